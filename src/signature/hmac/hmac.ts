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
  /**
   * Whether one of the signatures is the HMAC of the parts. Each is the digest's hex in lower case
   * and of its full length. A promise only where the runtime has no synchronous HMAC.
   */
  matches(parts: readonly Uint8Array[], signatures: readonly string[]): boolean | Promise<boolean>
}

export type MakeHmacKey = (secret: Uint8Array, algorithm: HmacAlgorithm) => HmacKey

export type Digest = (bytes: Uint8Array) => Promise<Uint8Array>

/** A digest in hex, for runtimes that need not wait for it. */
export type DigestSync = ((bytes: Uint8Array) => string) | undefined
