// The events of the sandbox as server-sent events. None is kept: a watcher that was cut off reads the
// state again.
import { EventEmitter } from 'node:events'
import type { Context } from 'hono'
import { streamSSE } from 'hono/streaming'

/** A comment this often keeps proxies from closing a quiet stream. */
const heartbeatMs = 15_000

/** Creates the emitter of `change`: a type and its data as JSON. */
export function createEvents() {
  return new EventEmitter<{ change: [type: string, data: unknown] }>().setMaxListeners(0)
}

/** Streams events; a watcher that comes back is first asked to read the state again. */
export function streamEvents(
  context: Context,
  events: ReturnType<typeof createEvents>,
  closing: AbortSignal,
): Response {
  const { raw } = context.req
  const response = streamSSE(context, async (stream) => {
    let leave = () => {}
    const ended = new Promise<void>((resolve) => {
      leave = resolve
    })
    const end = AbortSignal.any([raw.signal, closing])
    const write = (event: string, data: unknown) => {
      // Every event has the same id, so that a browser sends `Last-Event-ID` when it reconnects.
      stream.writeSSE({ id: 'seen', event, data: JSON.stringify(data) })
    }
    events.on('change', write)
    stream.onAbort(leave)
    end.addEventListener('abort', leave)
    if (end.aborted) leave()
    const heartbeat = setInterval(() => stream.write(': \n\n'), heartbeatMs)
    heartbeat.unref()
    if (raw.headers.has('last-event-id')) write('state', { resumed: false })
    else stream.write(': watching\n\n')
    await ended
    events.off('change', write)
    clearInterval(heartbeat)
  })
  response.headers.set('cache-control', 'no-store, no-transform')
  response.headers.set('x-accel-buffering', 'no')
  return response
}
