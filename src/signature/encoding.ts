// Encodes and decodes bytes strictly: text that is not exactly one encoding of the bytes is
// rejected.

export type Encoding = 'hex' | 'base64' | 'base64url'

const hexDigits = /^(?:[0-9a-f]{2})*$/i
const base64Alphabet = /^[A-Za-z0-9+/]*={0,2}$/
const base64urlAlphabet = /^[A-Za-z0-9_-]*={0,2}$/

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  }
  return btoa(binary)
}

export function toBase64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

export function encode(bytes: Uint8Array, encoding: Encoding): string {
  if (encoding === 'hex') return toHex(bytes)
  return encoding === 'base64' ? toBase64(bytes) : toBase64url(bytes)
}

/** Decodes hex of either case; undefined when it is anything else. */
export function fromHex(text: string): Uint8Array | undefined {
  return hexDigits.test(text) ? bytesOfHex(text) : undefined
}

/** The bytes of text that is known to be hex. */
export function bytesOfHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length / 2)
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = Number.parseInt(text.slice(at * 2, at * 2 + 2), 16)
  }
  return bytes
}

/** Decodes padded base64; undefined for other letters, padding or unused bits that are not zero. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (!base64Alphabet.test(text) || text.length % 4 !== 0) return undefined
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at)
  // Only the last group can have bits that are not used.
  const last = bytes.subarray(bytes.length - (bytes.length % 3 || 3))
  return text.endsWith(toBase64(last)) ? bytes : undefined
}

/** Decodes base64url with or without padding, as strictly as base64. */
export function fromBase64url(text: string): Uint8Array | undefined {
  if (!base64urlAlphabet.test(text)) return undefined
  const bare = text.replace(/=+$/, '')
  if (bare.length % 4 === 1 || (bare !== text && text.length % 4 !== 0)) return undefined
  const padded = bare.padEnd(Math.ceil(bare.length / 4) * 4, '=')
  return fromBase64(padded.replaceAll('-', '+').replaceAll('_', '/'))
}

/**
 * A digest of `length` bytes, in one encoding or in any, as lower-case hex; undefined if it is
 * malformed.
 */
export function digestHex(
  text: string,
  encoding: Encoding | 'any',
  length: number,
): string | undefined {
  if (text.length === length * 2) {
    const isHex = (encoding === 'hex' || encoding === 'any') && hexDigits.test(text)
    return isHex ? text.toLowerCase() : undefined
  }
  // Hex is the longest form of a digest: anything longer is refused before it is looked at.
  if (encoding === 'hex' || text.length > length * 2) return undefined
  const bytes = decodeBase64(text, encoding)
  return bytes?.length === length ? toHex(bytes) : undefined
}

function decodeBase64(text: string, encoding: Encoding | 'any'): Uint8Array | undefined {
  if (encoding === 'base64') return fromBase64(text)
  if (encoding === 'base64url') return fromBase64url(text)
  // Standard letters without padding: neither base64 nor base64url, but unambiguous.
  const padded = text.includes('=') ? text : text.padEnd(Math.ceil(text.length / 4) * 4, '=')
  return fromBase64(padded) ?? fromBase64url(text)
}
