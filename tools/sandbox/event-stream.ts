// The event bus as server-sent events, resumable by `Last-Event-ID`. A watcher that does not read is
// disconnected instead of buffered without bound.
import type { EventBus, SandboxEvent } from './event-bus.ts'

const encoder = new TextEncoder()
/** Messages that may wait for a slow reader before it is disconnected. */
const mostWaiting = 1000
/** A comment this often keeps proxies from closing a quiet stream. */
const heartbeatMs = 15_000

/**
 * A stream of everything that happens, from now on or after the request's `Last-Event-ID`. When the
 * events after it have left the buffer it begins with `state` and `{"resumed":false}`: read the
 * state again. It ends with the request or the sandbox.
 */
export function eventStream(bus: EventBus, request: Request, closing: AbortSignal): Response {
  const signals = [request.signal, closing]
  let leave = () => {}
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const write = (text: string) => controller.enqueue(encoder.encode(text))
        const end = () => {
          leave()
          try {
            controller.close()
          } catch {
            // The reader has already left.
          }
        }
        const stop = bus.watch((event) => {
          if ((controller.desiredSize ?? 0) <= -mostWaiting) return end()
          write(written(event))
        })
        const heartbeat = setInterval(() => write(': \n\n'), heartbeatMs)
        heartbeat.unref?.()
        leave = () => {
          stop()
          clearInterval(heartbeat)
          // The sandbox's own signal outlives every watcher.
          for (const signal of signals) signal.removeEventListener('abort', end)
        }
        for (const signal of signals) signal.addEventListener('abort', end, { once: true })
        write(beginning(bus, request.headers.get('last-event-id')))
        if (signals.some((signal) => signal.aborted)) end()
      },
      cancel: () => leave(),
    },
    { highWaterMark: 1 },
  )
  return new Response(stream, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    },
  })
}

function beginning(bus: EventBus, lastId: string | null): string {
  const missed = lastId === null ? [] : bus.since(lastId)
  if (!missed) return 'event: state\ndata: {"resumed":false}\n\n'
  return `: watching\n\n${missed.map(written).join('')}`
}

function written({ id, type, data }: SandboxEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}
