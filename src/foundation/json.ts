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

/** JSON of at most `most` levels, without keys that could reach a prototype; undefined otherwise. */
export function parseJson(
  text: string,
  most = deepest,
  reviver?: Reviver,
): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text, reviver)
    return isContainer(value) && !clean(value, most) ? undefined : { value }
  } catch {
    return undefined
  }
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** Integers of 16 digits and more, where values stand. */
const longInteger = /[:[,]\s*-?\d{16}/

interface ExactJson {
  readonly value: unknown
  /** How the numbers are spelt that those integers were rounded to. */
  readonly rounded: readonly string[]
}

/**
 * JSON that parsed before, with the integers above 2^53 as text, which collide as numbers; undefined
 * where it has none.
 */
export function parseExact(text: string): ExactJson | undefined {
  if (!longInteger.test(text)) return undefined
  let isAny = false
  const rounded = new Set<string>()
  const parsed = parseJson(text, deepest, (_, value, context) => {
    if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
    isAny = true
    const { source = '' } = context ?? {}
    for (const spelling of [String(value), value.toFixed()]) {
      if (spelling !== source) rounded.add(spelling)
    }
    return /^-?\d+$/.test(source) ? source : value
  })
  return parsed && isAny ? { ...parsed, rounded: [...rounded] } : undefined
}

/** Whether JSON is well formed, but nested deeper than `most` levels. */
export function isDeeperText(text: string, most: number): boolean {
  // Each level needs two brackets.
  if (text.length <= most * 2) return false
  try {
    const value: unknown = JSON.parse(text)
    return isContainer(value) && !clean(value, most)
  } catch {
    return false
  }
}

type Container = Record<string, unknown> | readonly unknown[]

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null

/**
 * Walks a value that was just parsed, once: drops the keys that could reach a prototype, and answers
 * whether it has at most `most` levels of arrays and objects.
 */
function clean(container: Container, most: number): boolean {
  if (most <= 0) return false
  if (Array.isArray(container)) {
    for (const one of container) if (isContainer(one) && !clean(one, most - 1)) return false
    return true
  }
  const object = container as Record<string, unknown>
  for (const key in object) {
    const one = object[key]
    if (reachesPrototype(key, one)) delete object[key]
    else if (isContainer(one) && !clean(one, most - 1)) return false
  }
  return true
}

/** `__proto__` leaks through Object.assign, `constructor.prototype` through deep merges. */
function reachesPrototype(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return key === 'constructor' && isContainer(value) && Object.hasOwn(value, 'prototype')
}
