// HMAC (RFC 2104) as two one-shot hashes over prepared pads: a stream object for each body costs as
// much as hashing 2 KB. Longer messages go through that object, which needs no copy of them.
import { Buffer } from 'node:buffer'
import { createHmac, createSecretKey, hash } from 'node:crypto'
import { digestLength, type HmacAlgorithm } from './hmac.ts'

/** Bytes of a hash's block, to which HMAC pads its key. */
const blockLength: Readonly<Record<HmacAlgorithm, number>> = { sha1: 64, sha256: 64, sha512: 128 }

/** Up to here a copy of the message costs less than the object that it spares. */
const longestCopied = 16 * 1024

/** Computes digests in hex under one key. */
export class OneShotHmac {
  readonly #algorithm: HmacAlgorithm
  readonly #block: number
  readonly #key: ReturnType<typeof createSecretKey>
  /** The inner pad, and behind it room for a message. */
  #inner: Buffer
  /** The outer pad, and behind it room for the inner digest. */
  readonly #outer: Buffer

  constructor(secret: Uint8Array, algorithm: HmacAlgorithm) {
    this.#algorithm = algorithm
    this.#block = blockLength[algorithm]
    this.#key = createSecretKey(secret)
    const short = secret.length > this.#block ? hash(algorithm, secret, 'buffer') : secret
    this.#inner = padded(short, { mask: 0x36, block: this.#block, room: 1024 })
    this.#outer = padded(short, { mask: 0x5c, block: this.#block, room: digestLength[algorithm] })
  }

  hex(parts: readonly Uint8Array[]): string {
    let end = this.#block
    for (const part of parts) end += part.length
    if (end - this.#block > longestCopied) return this.#streamed(parts)
    if (end > this.#inner.length) this.#grow(end)
    let at = this.#block
    for (const part of parts) {
      this.#inner.set(part, at)
      at += part.length
    }
    const digest = hash(this.#algorithm, this.#inner.subarray(0, end), 'binary')
    this.#outer.write(digest, this.#block, 'latin1')
    return hash(this.#algorithm, this.#outer, 'hex')
  }

  #grow(least: number): void {
    const grown = Buffer.alloc(2 ** Math.ceil(Math.log2(least)))
    this.#inner.copy(grown, 0, 0, this.#block)
    this.#inner = grown
  }

  #streamed(parts: readonly Uint8Array[]): string {
    const hmac = createHmac(this.#algorithm, this.#key)
    for (const part of parts) hmac.update(part)
    return hmac.digest('hex')
  }
}

/** A key that fills a block with zeros behind it, each byte changed by `mask`, with room behind. */
function padded(
  key: Uint8Array,
  { mask, block, room }: { readonly mask: number; readonly block: number; readonly room: number },
): Buffer {
  const pad = Buffer.alloc(block + room)
  pad.fill(mask, 0, block)
  for (const [at, byte] of key.entries()) pad[at] = byte ^ mask
  return pad
}
