// HMAC by node:crypto with a cached KeyObject, which is faster than a Buffer secret.
import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { type Digest, type DigestSync, digestLength, type MakeHmacKey } from './hmac.ts'

export const makeHmacKey: MakeHmacKey = (secret, algorithm) => {
  const key = createSecretKey(secret)
  // Compared as hex in buffers of the key's own: faster than to decode each claimed signature.
  const length = digestLength[algorithm] * 2
  const expected = Buffer.alloc(length)
  const claimed = Buffer.alloc(length)
  const hmacOf = (parts: readonly Uint8Array[]) => {
    const hmac = createHmac(algorithm, key)
    for (const part of parts) hmac.update(part)
    return hmac
  }
  return {
    sign: async (parts) => hmacOf(parts).digest(),
    matches: (parts, signatures) => {
      expected.write(hmacOf(parts).digest('hex'), 'latin1')
      let matched = false
      for (const signature of signatures) {
        claimed.write(signature, 'latin1')
        matched = timingSafeEqual(expected, claimed) || matched
      }
      return matched
    },
  }
}

/** SHA-256 of bytes. */
export const sha256: Digest = async (bytes) => createHash('sha256').update(bytes).digest()

/** SHA-256 of bytes in hex, at once. */
export const sha256Hex: DigestSync = (bytes) => createHash('sha256').update(bytes).digest('hex')
