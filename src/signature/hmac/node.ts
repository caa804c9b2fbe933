// HMAC by node:crypto with a cached KeyObject, which is faster than a Buffer secret.
import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { Digest, MakeHmacKey } from './hmac.ts'

export const makeHmacKey: MakeHmacKey = (secret, algorithm) => {
  const key = createSecretKey(secret)
  const sign = (parts: readonly Uint8Array[]) => {
    const hmac = createHmac(algorithm, key)
    for (const part of parts) hmac.update(part)
    return hmac.digest()
  }
  return {
    sign: async (parts) => sign(parts),
    matches: async (parts, signatures) => {
      const expected = sign(parts)
      let matched = false
      for (const signature of signatures) {
        matched = timingSafeEqual(expected, signature) || matched
      }
      return matched
    },
  }
}

/** SHA-256 of bytes. */
export const sha256: Digest = async (bytes) => createHash('sha256').update(bytes).digest()
