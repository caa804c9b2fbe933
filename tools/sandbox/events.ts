// The events of the sandbox, live and as server-sent events. None is kept: a watcher that was cut off
// reads the state again.
import type { Context } from 'hono'
import { streamSSE } from 'hono/streaming'

/** One thing that happened; `data` is JSON. */
export interface SandboxEvent {
  readonly id: string
  readonly type: string
  readonly data: unknown
}

/** A comment this often keeps proxies from closing a quiet stream. */
const heartbeatMs = 15_000

export class EventBus {
  readonly #watchers = new Set<(event: SandboxEvent) => void>()
  #last = 0

  publish(type: string, data: unknown): void {
    const event = { id: String(++this.#last), type, data }
    for (const watcher of this.#watchers) watcher(event)
  }

  /** Calls `watcher` with every further event; returns the function that ends this. */
  watch(watcher: (event: SandboxEvent) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  get watchers(): number {
    return this.#watchers.size
  }
}

/**
 * Streams further events until the request or the sandbox ends. A watcher that comes back, with
 * `Last-Event-ID`, first gets an event that asks it to read the state again.
 */
export function streamEvents(context: Context, bus: EventBus, closing: AbortSignal): Response {
  const { raw } = context.req
  const response = streamSSE(context, async (stream) => {
    let leave = () => {}
    const ended = new Promise<void>((resolve) => {
      leave = resolve
    })
    const end = AbortSignal.any([raw.signal, closing])
    const stop = bus.watch(({ id, type, data }) => {
      stream.writeSSE({ id, event: type, data: JSON.stringify(data) })
    })
    stream.onAbort(leave)
    end.addEventListener('abort', leave)
    if (end.aborted) leave()
    const heartbeat = setInterval(() => stream.write(': \n\n'), heartbeatMs)
    heartbeat.unref()
    const cameBack = raw.headers.has('last-event-id')
    if (cameBack) stream.writeSSE({ event: 'state', data: '{"resumed":false}' })
    else stream.write(': watching\n\n')
    await ended
    stop()
    clearInterval(heartbeat)
  })
  response.headers.set('cache-control', 'no-store, no-transform')
  response.headers.set('x-accel-buffering', 'no')
  return response
}
