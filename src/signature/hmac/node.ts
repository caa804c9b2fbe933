// Proves by node:crypto; what depends on a key alone is prepared once.
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  type Digest,
  type DigestSync,
  digestLength,
  type HmacKey,
  type MakeHmacKey,
} from './hmac.ts'
import { OneShotHmac } from './one-shot.ts'

export const makeHmacKey: MakeHmacKey = (secret, algorithm) => {
  if (algorithm === 'token') return tokenKey(secret)
  const hmac = new OneShotHmac(secret, algorithm)
  // Compared as hex in buffers of the key's own: faster than to decode each claimed signature.
  const length = digestLength[algorithm] * 2
  const expected = Buffer.alloc(length)
  const claimed = Buffer.alloc(length)
  return {
    sign: async (parts) => Buffer.from(hmac.hex(parts), 'hex'),
    matches: (parts, signatures) => {
      expected.write(hmac.hex(parts), 'latin1')
      let matched = false
      for (const signature of signatures) {
        claimed.write(signature, 'latin1')
        matched = timingSafeEqual(expected, claimed) || matched
      }
      return matched
    },
  }
}

/** A token is compared by its hash, so that not even its length shows in the time it takes. */
function tokenKey(secret: Uint8Array): HmacKey {
  const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
  const expected = hash(secret)
  return {
    sign: async () => secret,
    matches: (_, tokens) => {
      let matched = false
      for (const token of tokens) {
        matched = timingSafeEqual(expected, hash(Buffer.from(token, 'hex'))) || matched
      }
      return matched
    },
  }
}

/** SHA-256 of bytes. */
export const sha256: Digest = async (bytes) => createHash('sha256').update(bytes).digest()

/** SHA-256 of bytes in hex, at once. */
export const sha256Hex: DigestSync = (bytes) => createHash('sha256').update(bytes).digest('hex')
