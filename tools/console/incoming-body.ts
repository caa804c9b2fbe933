// The body of an incoming message as a web stream that can be given up: whatever was not read is then
// discarded within bounds, so that the caller can read its answer and use the connection again.
import type { IncomingMessage } from 'node:http'
import { deferred } from '../../src/foundation/promises.ts'

/** More than this is not read on for the sake of the connection, nor for longer. */
const mostDiscarded = 16 * 1_048_576
const mostMs = 10_000

export class IncomingBody {
  readonly stream: ReadableStream<Uint8Array>
  readonly #incoming: IncomingMessage
  #abandoned = false

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming
    // Nothing is read before it is asked for.
    this.stream = new ReadableStream(this.#source(), { highWaterMark: 0 })
  }

  /** Whether some of it was not read. */
  get unread(): boolean {
    return !this.#incoming.readableEnded
  }

  /** Whether the rest is small enough to be discarded, so that the connection stays usable. */
  get isBounded(): boolean {
    const length = Number(this.#incoming.headers['content-length'])
    return length <= mostDiscarded
  }

  /** Discards the rest; a connection that goes on sending is destroyed. */
  async discard(): Promise<void> {
    this.#abandoned = true
    const incoming = this.#incoming
    if (incoming.readableEnded || incoming.socket.destroyed) return
    const { promise, resolve } = deferred<void>()
    const timer = setTimeout(resolve, mostMs)
    let left = mostDiscarded
    incoming.on('data', (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) resolve()
    })
    incoming.once('end', resolve)
    // The message itself hears of it only before its answer.
    incoming.socket.once('close', resolve)
    incoming.resume()
    await promise
    clearTimeout(timer)
    incoming.socket.off('close', resolve)
    if (!incoming.readableEnded) incoming.socket.destroy()
  }

  #source(): UnderlyingDefaultSource<Uint8Array> {
    const incoming = this.#incoming
    return {
      start: (controller) => {
        incoming.on('data', (chunk: Buffer) => {
          if (this.#abandoned) return
          incoming.pause()
          controller.enqueue(new Uint8Array(chunk))
        })
        incoming.pause()
        const broken = () => {
          if (!this.#abandoned) controller.error(new Error('the request was aborted'))
          this.#abandoned = true
        }
        incoming.once('end', () => {
          if (!this.#abandoned) controller.close()
          this.#abandoned = true
        })
        incoming.once('error', broken)
        incoming.once('close', broken)
      },
      pull: () => void incoming.resume(),
      cancel: () => {
        this.#abandoned = true
      },
    }
  }
}
