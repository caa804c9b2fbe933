// Cryptography that a runtime must provide: HMAC and public keys over bytes, and comparisons that
// take constant time. The import condition `#hmac` chooses node.ts or web.ts.
import type { HmacName, PublicKeyName, Scheme } from '../../protocol/scheme-definition.ts'

export type HmacAlgorithm = HmacName

/** Bytes of a digest by algorithm. */
export const digestLength: Readonly<Record<HmacAlgorithm, number>> = {
  sha1: 20,
  sha256: 32,
  sha512: 64,
}

/** The fewest and most bytes of a signature; P-256 comes as two numbers or as their DER. */
export const signatureLength: Readonly<
  Record<PublicKeyName | 'token' | 'ip', readonly [least: number, most: number]>
> = {
  ed25519: [64, 64],
  es256: [8, 72],
  rs256: [256, 1024],
  token: [1, 4096],
  ip: [0, 0],
}

/** The names of algorithms in a JWS (RFC 7518). */
export const jwsNames = { sha256: 'HS256', ed25519: 'EdDSA', es256: 'ES256', rs256: 'RS256' }

/** Tells the algorithms whose signature every holder of the secret can make. */
export function isHmac(algorithm: Scheme['algorithm']): algorithm is HmacAlgorithm {
  return algorithm === 'sha256' || algorithm === 'sha512' || algorithm === 'sha1'
}

/** Tells the algorithms whose signature a public key proves. */
export function isPublicKey(algorithm: Scheme['algorithm']): algorithm is PublicKeyName {
  return algorithm === 'ed25519' || algorithm === 'es256' || algorithm === 'rs256'
}

/** A key, made once for each secret and kept. keys.ts makes the keys of public-key algorithms. */
export interface HmacKey {
  /** The signature over all parts in a row; a public key rejects. */
  sign(parts: readonly Uint8Array[]): Promise<Uint8Array>
  /**
   * True if one of the signatures, each in lower-case hex and of full length, is the key's over the
   * parts. Returns a promise only on runtimes without synchronous crypto.
   */
  matches(parts: readonly Uint8Array[], signatures: readonly string[]): boolean | Promise<boolean>
}

/** `token` compares the secret itself. */
export type MakeHmacKey = (secret: Uint8Array, algorithm: HmacAlgorithm | 'token') => HmacKey

export type Digest = (bytes: Uint8Array) => Promise<Uint8Array>

/** A digest in hex, for runtimes that need not wait for it. */
export type DigestSync = ((bytes: Uint8Array) => string) | undefined
