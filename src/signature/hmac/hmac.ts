// What a runtime must bring to sign: HMAC over bytes and a comparison that takes constant time.
// The import condition `#hmac` chooses node.ts or web.ts.

export type HmacAlgorithm = 'sha256' | 'sha512' | 'sha1'

/** Bytes of a digest by algorithm. */
export const digestLength: Readonly<Record<HmacAlgorithm, number>> = {
  sha1: 20,
  sha256: 32,
  sha512: 64,
}

/** A key, made once for each secret and kept. */
export interface HmacKey {
  /** The HMAC over all parts in a row. */
  sign(parts: readonly Uint8Array[]): Promise<Uint8Array>
  /** Whether one of the signatures, each of the digest's length, is the HMAC of the parts. */
  matches(parts: readonly Uint8Array[], signatures: readonly Uint8Array[]): Promise<boolean>
}

export type MakeHmacKey = (secret: Uint8Array, algorithm: HmacAlgorithm) => HmacKey

export type Digest = (bytes: Uint8Array) => Promise<Uint8Array>
