// The events of the sandbox, live and as server-sent events. The latest ones are kept, so that a
// watcher that was cut off continues where it stopped.
import type { Context } from 'hono'
import { streamSSE } from 'hono/streaming'

/** One thing that happened; `data` is JSON. */
export interface SandboxEvent {
  readonly id: string
  readonly type: string
  readonly data: unknown
}

/** Events kept for watchers that come back. */
const keptEvents = 1000
/** Events that may wait for a slow watcher before it is disconnected. */
const maxWaiting = 2 * keptEvents
/** A comment this often keeps proxies from closing a quiet stream. */
const heartbeatMs = 15_000

export class EventBus {
  readonly #watchers = new Set<(event: SandboxEvent) => void>()
  readonly #latest: SandboxEvent[] = []
  /** Distinguishes the events of this process from those of an earlier one. */
  readonly #run = Date.now().toString(36)
  #last = 0

  publish(type: string, data: unknown): void {
    const event = { id: `${this.#run}-${++this.#last}`, type, data }
    this.#latest.push(event)
    if (this.#latest.length > keptEvents) this.#latest.shift()
    for (const watcher of this.#watchers) watcher(event)
  }

  /** Calls `watcher` with every further event; returns the function that ends this. */
  watch(watcher: (event: SandboxEvent) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** The events after the one with this id; undefined if some of them are no longer kept. */
  since(id: string): readonly SandboxEvent[] | undefined {
    const [run, text] = id.split('-')
    const after = Number(text)
    const first = this.#last - this.#latest.length
    if (run !== this.#run || !(after >= first && after <= this.#last)) return undefined
    return this.#latest.slice(after - first)
  }

  get watchers(): number {
    return this.#watchers.size
  }
}

/**
 * Streams further events, and those after the request's `Last-Event-ID`. If the events after it are
 * no longer kept, the stream begins with `state` and `{"resumed":false}`: read the state again. It
 * ends with the request or the sandbox.
 */
export function streamEvents(context: Context, bus: EventBus, closing: AbortSignal): Response {
  const { raw } = context.req
  const response = streamSSE(context, async (stream) => {
    let leave = () => {}
    const ended = new Promise<void>((resolve) => {
      leave = resolve
    })
    const end = AbortSignal.any([raw.signal, closing])
    let waiting = 0
    const write = async ({ id, type, data }: SandboxEvent) => {
      if (++waiting > maxWaiting) return stream.abort()
      await stream.writeSSE({ id, event: type, data: JSON.stringify(data) })
      waiting--
    }
    const stop = bus.watch(write)
    stream.onAbort(leave)
    end.addEventListener('abort', leave)
    if (end.aborted) leave()
    const heartbeat = setInterval(() => stream.write(': \n\n'), heartbeatMs)
    heartbeat.unref()
    const lastId = raw.headers.get('last-event-id')
    const missed = lastId === null ? [] : bus.since(lastId)
    if (missed) stream.write(': watching\n\n')
    else stream.writeSSE({ event: 'state', data: '{"resumed":false}' })
    for (const event of missed ?? []) write(event)
    await ended
    stop()
    clearInterval(heartbeat)
  })
  response.headers.set('cache-control', 'no-store, no-transform')
  response.headers.set('x-accel-buffering', 'no')
  return response
}
