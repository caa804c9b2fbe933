// Masks the text of a JSON string in place: marks, lengths and the spelling of escapes stay.

const letter = /\\u[0-9a-fA-F]{4}|\\.|\p{L}\p{M}{0,99}|\p{N}|[^\x20-\x7e]/gu

/** Every letter becomes x, every digit 0; each `variant` above 0 is another text of that shape. */
export function mask(part: string, variant = 0): string {
  let left = variant
  const next = (marks: string) => {
    const mark = marks.charAt(left % marks.length)
    left = Math.floor(left / marks.length)
    return mark
  }
  const masked = part.slice(1, -1).replaceAll(letter, (one) => {
    if (one.startsWith('\\u')) return '\\u0078'
    if (one.startsWith('\\')) return one
    return /\p{N}/u.test(one) ? next('0123456789') : next('xyzwvqjk')
  })
  return left > 0 ? `"${masked}-${left}"` : `"${masked}"`
}

/** Masks the keys of one object, so that keys that differed still do. */
export class MaskedKeys {
  readonly #masked = new Map<string, string>()
  readonly #taken = new Set<string>()
  readonly #variants = new Map<string, number>()
  readonly #isKnown: (key: string) => boolean

  /** No key is masked as one that is known: it could be a sibling. */
  constructor(isKnown: (key: string) => boolean) {
    this.#isKnown = isKnown
  }

  mask(part: string, key: string): string {
    const before = this.#masked.get(key)
    if (before !== undefined) return before
    // As it is read: one key can be spelled in as many ways as it has slashes.
    const shape = JSON.parse(mask(part)) as string
    let variant = this.#variants.get(shape) ?? 0
    for (;;) {
      const masked = mask(part, variant++)
      const read = JSON.parse(masked) as string
      if (this.#taken.has(read) || this.#isKnown(read)) continue
      this.#variants.set(shape, variant)
      this.#masked.set(key, masked)
      this.#taken.add(read)
      return masked
    }
  }
}
