// Byte arrays: joining them, collecting the chunks of a body, and reading a web stream within a bound.
import { nextTurn } from '../host/runtime.ts'

/** True for a Uint8Array, also one of another realm, e.g. of Jest with jsdom or of `node:vm`. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && (value as Uint8Array)[Symbol.toStringTag] === 'Uint8Array'
}

/** Joins byte arrays, in order, into one. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const bytes = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** The most bytes of a block that several chunks share. */
const maxBlock = 16 * 1024
/** Chunks in a row without bytes that are read before timers get their turn. */
const maxEmpty = 100

/**
 * Collects chunks. A sender chooses how short they are, and each chunk holds hundreds of bytes of
 * overhead or the whole buffer that it was cut from. So chunks are copied into blocks that grow
 * with the body.
 */
export class Chunks {
  readonly #blocks: Uint8Array<ArrayBuffer>[] = []
  #length = 0
  /** Bytes of the last block that are not used yet. */
  #free = 0
  /** The latest chunks in a row that had no bytes. */
  #empty = 0

  add(chunk: Uint8Array): this {
    const last = this.#blocks.at(-1)
    const fitting = chunk.subarray(0, this.#free)
    last?.set(fitting, last.length - this.#free)
    this.#free -= fitting.length
    this.#begin(chunk.subarray(fitting.length))
    this.#length += chunk.length
    this.#empty = chunk.length === 0 ? this.#empty + 1 : 0
    return this
  }

  /**
   * Resolves in a later turn when the reader must give one up: a stream that always has another
   * empty chunk is read in microtasks, and no deadline would end it.
   */
  turn(): Promise<void> | undefined {
    return this.#empty < maxEmpty ? undefined : nextTurn()
  }

  #begin(rest: Uint8Array): void {
    if (rest.length === 0) return
    const block = new Uint8Array(Math.max(rest.length, Math.min(this.#length, maxBlock)))
    block.set(rest)
    this.#blocks.push(block)
    this.#free = block.length - rest.length
  }

  /** All bytes, in few blocks. */
  blocks(): Uint8Array<ArrayBuffer>[] {
    const last = this.#blocks.pop()
    if (last) this.#blocks.push(last.subarray(0, last.length - this.#free))
    this.#free = 0
    return this.#blocks
  }

  /** All bytes in one array. */
  joined(): Uint8Array<ArrayBuffer> {
    const [only, another] = this.blocks()
    return only && !another ? only : concat(this.#blocks)
  }
}

/** Limits for reading a stream. */
export interface ReadBounds {
  /** The most bytes that are read. */
  readonly most: number
  /** Called with the size of each chunk as it arrives; false stops the reading. */
  readonly onChunk?: (bytes: number) => boolean
  /** Aborting it stops the reading: the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The bytes of a web stream; undefined when there are more than `most`, or `onChunk` stopped it.
 * The rest of the stream is cancelled. Rejects as the stream or the signal does.
 */
export async function readStream(
  stream: ReadableStream<Uint8Array> | null,
  { most, onChunk, signal }: ReadBounds,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks = new Chunks()
  if (!stream) return new Uint8Array()
  const reader = stream.getReader()
  // Not awaited: a stream that never ends may never confirm that it is canceled.
  const cancel = () => void reader.cancel(signal?.reason).catch(() => {})
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    signal?.throwIfAborted()
    let length = 0
    for (;;) {
      const { done, value } = await reader.read()
      signal?.throwIfAborted()
      if (done) return chunks.joined()
      length += value.length
      if (length > most || onChunk?.(value.length) === false) return undefined
      chunks.add(value)
      const turn = chunks.turn()
      if (turn) await turn
    }
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
}
