// Bytes to JSON, strictly and without harm: what cannot be walked or could pollute a prototype
// does not get through. The text is decoded here alone.

/** The service's API nests as deep as its callers did; its size bounds it. */
export const deepestAnswer = 500
/**
 * Deeper JSON parses, but some thousands of levels overflow the stack of whatever walks it later. An
 * event holds a record of the API in its envelope.
 */
const deepest = 512

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Strict UTF-8, a byte order mark dropped; undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** JSON of at most `most` levels, with no key that could reach a prototype; undefined otherwise. */
export function parseJson(text: string, most = deepest): { readonly value: unknown } | undefined {
  try {
    const value: unknown = mayNamePrototype(text)
      ? JSON.parse(text, withoutPrototypeKeys)
      : JSON.parse(text)
    return mayBeDeeper(text, most) && isDeeper(value, most) ? undefined : { value }
  } catch {
    return undefined
  }
}

/**
 * Whether a key of the text may be `__proto__`, or `constructor` with a `prototype`: both hold
 * "proto". An escape of an ASCII letter could spell it too, so those go the strict way.
 */
function mayNamePrototype(text: string): boolean {
  return text.includes('proto') || (text.includes('\\u00') && /\\u00[567]/.test(text))
}

/** Each level needs two brackets, so a short text or one with few of them needs no walk. */
function mayBeDeeper(text: string, most: number): boolean {
  if (text.length <= most * 2) return false
  let brackets = 0
  for (const bracket of '{[') {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++brackets > most) return true
    }
  }
  return false
}

/** Whether JSON is well formed, but nested deeper than `most` levels. */
export function isDeeperText(text: string, most: number): boolean {
  try {
    return mayBeDeeper(text, most) && isDeeper(JSON.parse(text), most)
  } catch {
    return false
  }
}

/** Whether a value has more than `most` levels of arrays and objects. */
function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (most === 0) return true
  if (Array.isArray(value)) {
    for (const one of value) {
      if (typeof one === 'object' && one !== null && isDeeper(one, most - 1)) return true
    }
    return false
  }
  for (const key in value) {
    const one: unknown = (value as Readonly<Record<string, unknown>>)[key]
    if (typeof one === 'object' && one !== null && isDeeper(one, most - 1)) return true
  }
  return false
}

/** `__proto__` leaks through Object.assign, `constructor.prototype` through deep merges. */
function withoutPrototypeKeys(key: string, value: unknown): unknown {
  if (key === '__proto__') return undefined
  if (key === 'constructor' && typeof value === 'object' && value !== null) {
    return Object.hasOwn(value, 'prototype') ? undefined : value
  }
  return value
}
