// Proof by WebCrypto, for runtimes without node:crypto; the platform compares in constant time.
import { concat } from '../../foundation/bytes.ts'
import type { PublicKeyName } from '../../protocol/scheme-definition.ts'
import { bytesOfHex, toHex } from '../encoding.ts'
import { isPrivate, toP1363 } from './der.ts'
import {
  type Digest,
  type DigestSync,
  type HmacKey,
  isHmac,
  isPublicKey,
  type MakeHmacKey,
} from './hmac.ts'

const names = { sha1: 'SHA-1', sha256: 'SHA-256', sha512: 'SHA-512' } as const

export const makeHmacKey: MakeHmacKey = (secret, algorithm) => {
  if (isPublicKey(algorithm)) return publicKey(secret, algorithm)
  if (!isHmac(algorithm)) return tokenKey(secret)
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

/** Compared as HMACs under a key that nobody knows: the time that it takes tells nothing. */
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

const algorithms = {
  ed25519: { name: 'Ed25519' },
  es256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  rs256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
} as const

function publicKey(der: Uint8Array, algorithm: PublicKeyName): HmacKey {
  const how = algorithms[algorithm]
  let secret: Promise<CryptoKey> | undefined
  let known: Promise<CryptoKey> | undefined
  const own = () => {
    secret ??= crypto.subtle.importKey('pkcs8', owned(der), how, true, ['sign'])
    return secret
  }
  const key = () => {
    known ??= isPrivate(der)
      ? own().then(publicHalf)
      : crypto.subtle.importKey('spki', owned(der), how, false, ['verify'])
    return known
  }
  const publicHalf = async (half: CryptoKey) => {
    const { kty, crv, x, y, n, e } = await crypto.subtle.exportKey('jwk', half)
    const open = Object.fromEntries(
      Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined),
    )
    return crypto.subtle.importKey('jwk', open, how, false, ['verify'])
  }
  return {
    sign: async (parts) => {
      if (!isPrivate(der)) throw new TypeError('a public key cannot sign: pass the private key')
      return new Uint8Array(await crypto.subtle.sign(how, await own(), concat(parts)))
    },
    matches: async (parts, signatures) => {
      const message = concat(parts)
      for (const one of signatures) {
        const given = bytesOfHex(one)
        const signature = algorithm === 'es256' ? toP1363(given) : given
        if (!signature) continue
        if (await crypto.subtle.verify(how, await key(), owned(signature), message)) return true
      }
      return false
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
  return bytes.buffer instanceof ArrayBuffer
    ? (bytes as Uint8Array<ArrayBuffer>)
    : new Uint8Array(bytes)
}
