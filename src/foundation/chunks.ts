// Chunks of a body as they arrive, in little more memory than their bytes.

/** The most bytes of a block that several chunks share. */
const longestBlock = 16 * 1024
/** Chunks in a row without bytes that are read before timers get their turn. */
const mostEmpty = 100

/**
 * Collects chunks. A sender chooses how short they are, and each holds hundreds of bytes of its own
 * or the whole buffer that it was cut from: all are copied into blocks, which grow with what came.
 */
export class Chunks {
  readonly #blocks: Uint8Array<ArrayBuffer>[] = []
  #length = 0
  /** Bytes of the last block that are not used yet. */
  #free = 0
  /** The latest chunks in a row that had no bytes. */
  #empty = 0

  add(chunk: Uint8Array): void {
    const last = this.#blocks.at(-1)
    const fitting = chunk.subarray(0, this.#free)
    last?.set(fitting, last.length - this.#free)
    this.#free -= fitting.length
    this.#begin(chunk.subarray(fitting.length))
    this.#length += chunk.length
    this.#empty = chunk.length === 0 ? this.#empty + 1 : 0
  }

  /**
   * A turn to wait for before the next chunk, if there is need: a stream that always has another one
   * without bytes is read in microtasks alone, and no deadline would end it.
   */
  turn(): Promise<void> | undefined {
    return this.#empty < mostEmpty ? undefined : new Promise((resolve) => setTimeout(resolve))
  }

  #begin(rest: Uint8Array): void {
    if (rest.length === 0) return
    const block = new Uint8Array(Math.max(rest.length, Math.min(this.#length, longestBlock)))
    block.set(rest)
    this.#blocks.push(block)
    this.#free = block.length - rest.length
  }

  /** All bytes in one array. */
  joined(): Uint8Array<ArrayBuffer> {
    const [only, another] = this.#blocks
    if (only && !another) return only
    const bytes = new Uint8Array(this.#length)
    let at = 0
    for (const block of this.#blocks) {
      bytes.set(block.subarray(0, this.#length - at), at)
      at += block.length
    }
    return bytes
  }
}
