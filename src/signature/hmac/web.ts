// Proof by WebCrypto, for runtimes without node:crypto; the platform compares in constant time.
import { concat } from '../../foundation/bytes.ts'
import { bytesOfHex, toHex } from '../encoding.ts'
import type { Digest, DigestSync, HmacKey, MakeHmacKey } from './hmac.ts'

const names = { sha1: 'SHA-1', sha256: 'SHA-256', sha512: 'SHA-512' } as const

export const makeHmacKey: MakeHmacKey = (secret, algorithm) => {
  if (algorithm === 'token') return tokenKey(secret)
  let imported: Promise<CryptoKey> | undefined
  const key = () => {
    const hash = { name: 'HMAC', hash: names[algorithm] }
    imported ??= crypto.subtle.importKey('raw', owned(secret), hash, false, ['sign', 'verify'])
    return imported
  }
  return {
    sign: async (parts) =>
      new Uint8Array(await crypto.subtle.sign('HMAC', await key(), concat(parts))),
    matches: async (parts, signatures) => {
      const message = concat(parts)
      let matched = false
      for (const signature of signatures) {
        const claimed = bytesOfHex(signature)
        const same = await crypto.subtle.verify('HMAC', await key(), claimed, message)
        matched = same || matched
      }
      return matched
    },
  }
}

/**
 * Compares tokens as HMACs under a random key, so that the time of a comparison reveals nothing.
 */
function tokenKey(secret: Uint8Array): HmacKey {
  const blind = makeHmacKey(crypto.getRandomValues(new Uint8Array(32)), 'sha256')
  return {
    sign: async () => secret,
    matches: async (_, tokens) => {
      const expected = toHex(await blind.sign([secret]))
      let matched = false
      for (const token of tokens) {
        matched = (await blind.matches([bytesOfHex(token)], [expected])) || matched
      }
      return matched
    },
  }
}

/** SHA-256 of bytes. */
export const sha256: Digest = async (bytes) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', owned(bytes)))

/** WebCrypto only gives promises. */
export const sha256Hex: DigestSync = undefined

/** WebCrypto takes no view on shared memory, so a view of any other kind is copied. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer[Symbol.toStringTag] === 'ArrayBuffer'
    ? (bytes as Uint8Array<ArrayBuffer>)
    : new Uint8Array(bytes)
}
