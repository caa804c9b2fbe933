// The feed as server-sent events. A watcher that does not read is let go, not buffered for ever.
import type { Feed } from './event-bus.ts'

const encoder = new TextEncoder()
/** Messages that may wait for a slow reader before it is let go. */
const patience = 1000

/** A stream of everything that happens from now on; it ends with the first of the signals. */
export function eventStream(feed: Feed, gone: readonly AbortSignal[]): Response {
  let leave = () => {}
  let id = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const end = () => {
          leave()
          try {
            controller.close()
          } catch {
            // The reader has already left.
          }
        }
        controller.enqueue(encoder.encode(': watching\n\n'))
        const stop = feed.watch(({ type, data }) => {
          if ((controller.desiredSize ?? 0) <= -patience) return end()
          id++
          controller.enqueue(
            encoder.encode(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`),
          )
        })
        for (const signal of gone) signal.addEventListener('abort', end, { once: true })
        leave = () => {
          stop()
          // The sandbox's own signal outlives every watcher.
          for (const signal of gone) signal.removeEventListener('abort', end)
        }
        if (gone.some((signal) => signal.aborted)) end()
      },
      cancel: () => leave(),
    },
    { highWaterMark: 1 },
  )
  return new Response(stream, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  })
}
