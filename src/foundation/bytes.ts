// Byte arrays: joining them, and reading a web stream within a bound.
import { Chunks } from './chunks.ts'

/** One array of all the bytes, in their order. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let length = 0
  for (const part of parts) length += part.length
  const bytes = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
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
  // Not awaited: a stream that never ends need not agree to be cancelled.
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
