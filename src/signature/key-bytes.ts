// The bytes that a secret's text stands for, checked: an empty or untrimmed secret, or one of zero
// bytes, would let anyone sign.
import { invalid } from '../foundation/check.ts'
import { decodeUtf8 } from '../foundation/json.ts'
import type { Scheme } from '../protocol/scheme-definition.ts'
import { fromHex } from './encoding.ts'

/**
 * The key that a secret's text stands for.
 *
 * @throws WebhookError `SECRET_INVALID`
 */
export function keyBytes(
  value: string | Uint8Array,
  decoding: Scheme['key'],
  name = 'secret',
): Uint8Array {
  const refuse = (why: string): never => {
    throw invalid(`${name} ${why}`, 'SECRET_INVALID')
  }
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
    return refuse(`must be a string or bytes, got ${typeof value}`)
  }
  // Callers may wipe the bytes of a key after they have passed it.
  const own = typeof value === 'string' ? value : Uint8Array.from(value)
  const bytes = typeof own === 'string' ? decoded(own, decoding, refuse) : own
  if (bytes.length === 0) return refuse('is empty: anyone could sign with it')
  if (typeof own !== 'string' && isUntrimmedText(own)) {
    return refuse('has white space at its ends: trim the file that it came from')
  }
  if (bytes.every((byte) => byte === 0)) {
    return refuse(
      'consists of zero bytes only, which HMAC reads as no key: anyone could sign with it',
    )
  }
  return bytes
}

function decoded(
  value: string,
  decoding: Scheme['key'],
  refuse: (why: string) => never,
): Uint8Array {
  if (value.trim() === '') return refuse('is empty: check that the environment variable is set')
  if (value !== trimmed(value) || /[\r\n\t]/.test(value)) {
    return refuse('has stray white space: trim it, e.g. a line break at the end of the variable')
  }
  if (/^(["']).*\1$/.test(value)) {
    return refuse('is in quotes, which are part of it: remove them, e.g. in the file of --env-file')
  }
  if (value === 'undefined' || value === 'null') {
    return refuse(`is the text '${value}': check that the environment variable is set`)
  }
  if (decoding === 'utf8') return new TextEncoder().encode(value)
  if (decoding === 'hex') return fromHex(value) ?? refuse('is not hex, as its scheme says')
  const text = decoding === 'whsec' ? value.replace(/^(?:v1,)?whsec_/, '') : value
  return fromLooseBase64(text) ?? refuse('is not base64, as its scheme says')
}

/** As the libraries of Standard Webhooks read a secret: either alphabet, padded or not. */
function fromLooseBase64(text: string): Uint8Array | undefined {
  const standard = text.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/')
  if (!/^[A-Za-z0-9+/]+$/.test(standard) || standard.length % 4 === 1) return undefined
  return Uint8Array.from(atob(standard), (letter) => letter.charCodeAt(0))
}

/** Without white space and without format characters such as U+200B and U+2060. */
const trimmed = (text: string) => text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, '')

/** Text with white space at its ends is a file that was not trimmed, not a binary key. */
function isUntrimmedText(bytes: Uint8Array): boolean {
  const text = decodeUtf8(bytes)
  if (text === undefined || text === trimmed(text)) return false
  // A short binary key may begin or end with such a byte; control characters tell it from text.
  return !/[^\P{Cc}\s]/u.test(text)
}
