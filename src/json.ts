// Bytes to JSON, strictly and without harm: what cannot be walked or could pollute a prototype
// does not get through. The text is decoded here alone.

/** Deeper JSON parses, but overflows the stack of whatever walks it later. */
const deepest = 64
/** What the service's API shows is nested as deep as the service took it; it is bounded by its size. */
export const deepestAnswer = 500

/** Strict UTF-8, a byte order mark dropped; undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** JSON of at most 64 levels, with no key that could reach a prototype; undefined otherwise. */
export function parseJson(text: string, most = deepest): { readonly value: unknown } | undefined {
  if (isDeeper(text, most)) return undefined
  try {
    return { value: JSON.parse(text, withoutPrototypeKeys) }
  } catch {
    return undefined
  }
}

/** Counts brackets outside strings, so that no deep value is ever built. */
export function isDeeper(text: string, most: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at)
    if (inString) {
      if (letter === 0x5c) at++
      else if (letter === 0x22) inString = false
    } else if (letter === 0x22) inString = true
    else if (letter === 0x7b || letter === 0x5b) {
      depth++
      if (depth > most) return true
    } else if (letter === 0x7d || letter === 0x5d) depth--
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
