// The bodies that a recorder holds. A stranger may begin any number and end none: the bytes of all
// together are bounded, and each has a deadline.
import type { IncomingMessage } from 'node:http'
import { Chunks } from '../../src/foundation/chunks.ts'

/** Why a body is not read. */
export interface BodyRefusal {
  readonly status: 408 | 413 | 503
  readonly reason: string
}

/** The bounds of one body. */
export interface BodyBounds {
  /** Bytes. */
  readonly maxBytes: number
  /** Milliseconds until it must have arrived. */
  readonly bodyTimeout?: number | undefined
}

/** So many bodies of the largest size fit at a time: one that arrives alone always does. */
const mostLargest = 4
/** Bytes that may be held however small `maxBytes` is: short bodies come in bursts. */
const leastOfAll = 64 * 1024 ** 2

/** Counts the bytes of all bodies that are read or worked on. */
export class HeldBodies {
  readonly #bounds: Required<BodyBounds>
  readonly #mostOfAll: number
  #bytes = 0

  constructor({ maxBytes, bodyTimeout = 30_000 }: BodyBounds) {
    this.#bounds = { maxBytes, bodyTimeout }
    this.#mostOfAll = Math.max(leastOfAll, mostLargest * maxBytes)
  }

  /** Reads a body and works on it, and counts it until both are done. */
  async hold(
    request: IncomingMessage,
    work: (body: Uint8Array) => Promise<void>,
  ): Promise<BodyRefusal | undefined> {
    let bytes = 0
    const count = (more: number) => {
      bytes += more
      this.#bytes += more
      return this.#refusalOf(bytes)
    }
    try {
      const read = await this.#read(request, count)
      if ('reason' in read) return read
      await work(read)
      return undefined
    } finally {
      this.#bytes -= bytes
    }
  }

  #refusalOf(bytes: number): BodyRefusal | undefined {
    const { maxBytes } = this.#bounds
    if (bytes > maxBytes) {
      return { status: 413, reason: `its body is larger than --max-bytes ${maxBytes}` }
    }
    if (this.#bytes <= this.#mostOfAll) return undefined
    const reason = `the bodies of all requests at this time hold more than ${this.#mostOfAll} bytes`
    return { status: 503, reason }
  }

  async #read(
    request: IncomingMessage,
    count: (bytes: number) => BodyRefusal | undefined,
  ): Promise<Uint8Array | BodyRefusal> {
    const { bodyTimeout } = this.#bounds
    const chunks = new Chunks()
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | BodyRefusal>()
    const timer = setTimeout(() => {
      resolve({ status: 408, reason: `its body did not arrive within ${bodyTimeout / 1000} s` })
    }, bodyTimeout)
    const add = (chunk: Buffer) => {
      const refusal = count(chunk.length)
      if (refusal) resolve(refusal)
      else chunks.add(chunk)
    }
    request.on('data', add)
    request.once('end', () => resolve(chunks.joined()))
    request.once('error', reject)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      request.off('data', add)
    }
  }
}
