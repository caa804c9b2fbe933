// Proof by node:crypto, with all that depends on a key alone prepared once.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  createSign,
  createVerify,
  sign as signOnce,
  timingSafeEqual,
  verify as verifyOnce,
} from 'node:crypto'
import type { PublicKeyName } from '../../protocol/scheme-definition.ts'
import { isPrivate, toP1363 } from './der.ts'
import {
  type Digest,
  type DigestSync,
  digestLength,
  type HmacKey,
  isHmac,
  isPublicKey,
  type MakeHmacKey,
} from './hmac.ts'
import { OneShotHmac } from './one-shot.ts'

export const makeHmacKey: MakeHmacKey = (secret, algorithm) => {
  if (isPublicKey(algorithm)) return publicKey(secret, algorithm)
  if (!isHmac(algorithm)) return tokenKey(secret)
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

const dsaEncoding = 'ieee-p1363'

function publicKey(der: Uint8Array, algorithm: PublicKeyName): HmacKey {
  const bytes = Buffer.from(der)
  const secret = isPrivate(der)
    ? createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })
    : undefined
  const key = secret
    ? createPublicKey(secret)
    : createPublicKey({ key: bytes, format: 'der', type: 'spki' })
  const matchesOne = (parts: readonly Uint8Array[], given: Uint8Array) => {
    const signature = algorithm === 'es256' ? toP1363(given) : given
    if (!signature) return false
    if (algorithm === 'ed25519') return verifyOnce(null, Buffer.concat(parts), key, signature)
    const verifier = createVerify('sha256')
    for (const part of parts) verifier.update(part)
    return verifier.verify({ key, dsaEncoding }, signature)
  }
  return {
    sign: async (parts) => {
      if (!secret) throw new TypeError('a public key cannot sign: pass the private key')
      if (algorithm === 'ed25519') return signOnce(null, Buffer.concat(parts), secret)
      const signer = createSign('sha256')
      for (const part of parts) signer.update(part)
      return signer.sign({ key: secret, dsaEncoding })
    },
    matches: (parts, signatures) =>
      signatures.some((signature) => matchesOne(parts, Buffer.from(signature, 'hex'))),
  }
}

/** SHA-256 of bytes. */
export const sha256: Digest = async (bytes) => createHash('sha256').update(bytes).digest()

/** SHA-256 of bytes in hex, at once. */
export const sha256Hex: DigestSync = (bytes) => createHash('sha256').update(bytes).digest('hex')
