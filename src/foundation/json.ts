// Parses bytes as JSON, strictly. Values that are nested too deeply or could pollute a prototype do
// not get through. Only this file decodes the text.

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

/** JSON as parsed; `isLong`: a number is beyond 2^53, where integers collide. */
export interface ParsedJson {
  readonly value: unknown
  readonly isLong: boolean
}

/** JSON of at most `most` levels, without keys that could reach a prototype; undefined otherwise. */
export function parseJson(text: string, most = deepest): ParsedJson | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const found = walkArray([value], most + 1)
    return found === 'deeper' ? undefined : { value, isLong: found === 'long' }
  } catch {
    return undefined
  }
}

/**
 * JSON that parsed before, with the integers above 2^53 as text, which collide as numbers; undefined
 * if it has none, or on a runtime that does not tell the source of a number.
 */
export function parseExact(text: string): { readonly value: unknown } | undefined {
  let isAny = false
  const value: unknown = JSON.parse(text, (_, one: unknown, context?: { source?: string }) => {
    if (typeof one !== 'number' || Math.abs(one) <= maxInteger) return one
    const { source = '' } = context ?? {}
    if (!/^-?\d+$/.test(source)) return one
    isAny = true
    return source
  })
  walkArray([value], deepest + 1)
  return isAny ? { value } : undefined
}

/** Tells well-formed JSON that is nested deeper than `most` levels. */
export function isDeeperText(text: string, most: number): boolean {
  // Each level needs two brackets.
  if (text.length <= most * 2) return false
  try {
    return walkArray([JSON.parse(text)], most + 1) === 'deeper'
  } catch {
    return false
  }
}

type Found = 'plain' | 'long' | 'deeper'
type JsonObject = Record<string, unknown>
const maxInteger = Number.MAX_SAFE_INTEGER

/**
 * Walks values that were just parsed, once: drops the keys that could reach a prototype, and tells
 * whether they have more than `most` levels of arrays and objects, or a number beyond 2^53. Numbers
 * are compared in place, because a call for each would be most of the walk.
 */
function walkArray(array: readonly unknown[], most: number): Found {
  if (most <= 0) return 'deeper'
  let found: Found = 'plain'
  for (const one of array) {
    if (typeof one === 'number') {
      if (Math.abs(one) > maxInteger) found = 'long'
    } else if (typeof one === 'object' && one !== null) {
      const inner = Array.isArray(one)
        ? walkArray(one, most - 1)
        : walkObject(one as JsonObject, most - 1)
      if (inner === 'deeper') return inner
      if (inner === 'long') found = inner
    }
  }
  return found
}

function walkObject(object: JsonObject, most: number): Found {
  if (most <= 0) return 'deeper'
  let found: Found = 'plain'
  for (const key in object) {
    const one = object[key]
    if ((key === '__proto__' || key === 'constructor') && reachesPrototype(key, one)) {
      delete object[key]
    } else if (typeof one === 'number') {
      if (Math.abs(one) > maxInteger) found = 'long'
    } else if (typeof one === 'object' && one !== null) {
      const inner = Array.isArray(one)
        ? walkArray(one, most - 1)
        : walkObject(one as JsonObject, most - 1)
      if (inner === 'deeper') return inner
      if (inner === 'long') found = inner
    }
  }
  return found
}

/** `__proto__` leaks through Object.assign, `constructor.prototype` through deep merges. */
function reachesPrototype(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
