// Changes of an inbox as server-sent events, over any store and however many processes work
// on it: one question a second for all who watch, and none while nobody does.
import type { Inbox } from '../../src/inbox/inbox.ts'
import { ConsoleRefusal } from './refusal.ts'

const encoder = new TextEncoder()
const newest = 50
/** Messages that may wait for a slow reader before its stream is closed. */
const patience = 100
/** Milliseconds after which a page has to ask again, and `authorize` with it. */
const longest = 5 * 60_000

export interface InboxStream {
  /**
   * A stream of what changes from now on; it ends with the signal, and once the inbox is closed.
   *
   * @throws ConsoleRefusal where it is closed
   */
  open(signal: AbortSignal): Response
}

interface Watcher {
  readonly tell: (event: string, data: unknown) => void
  readonly end: () => void
}

/**
 * Watches an inbox every `interval` milliseconds while anybody listens. It opens none that was
 * closed: a process that ends would take it from its successor.
 */
export function createInboxStream(
  inbox: Pick<Inbox, 'find' | 'stats' | 'isClosed'>,
  interval: number,
): InboxStream {
  const watchers = new Set<Watcher>()
  let before = ''
  let running = false
  let failing = false

  const tell: Watcher['tell'] = (event, data) => {
    for (const watcher of watchers) watcher.tell(event, data)
  }
  const look = async () => {
    const [stats, { entries }] = await Promise.all([inbox.stats(), inbox.find({ limit: newest })])
    const { lag: _, oldestAge: __, ...counts } = stats
    const states = entries.map(({ id, state, attempts }) => [id, state, attempts])
    const seen = JSON.stringify([counts, states])
    const changed = seen !== before && before !== ''
    before = seen
    if (failing) tell('available', {})
    failing = false
    tell('stats', stats)
    if (changed) tell('changed', {})
  }
  const run = async () => {
    running = true
    while (watchers.size > 0) {
      if (inbox.isClosed) {
        for (const watcher of watchers) watcher.end()
        break
      }
      // A store that is down for a while is asked again.
      await look().catch(() => {
        failing = true
        tell('unavailable', {})
      })
      await new Promise((resolve) => setTimeout(resolve, interval))
    }
    running = false
    failing = false
    before = ''
  }
  return {
    open(signal) {
      if (inbox.isClosed) {
        throw new ConsoleRefusal(503, 'STORE_UNAVAILABLE', 'The inbox is closed')
      }
      const stream = streamTo(watchers, signal)
      if (!running) void run()
      return new Response(stream, {
        headers: {
          'content-type': 'text/event-stream',
          'cache-control': 'no-store, no-transform',
          'x-accel-buffering': 'no',
        },
      })
    },
  }
}

/** A stream that is one of the watchers until its reader leaves, or falls too far behind. */
function streamTo(watchers: Set<Watcher>, signal: AbortSignal): ReadableStream<Uint8Array> {
  let leave = () => {}
  return new ReadableStream<Uint8Array>(
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
        const write = (text: string) => controller.enqueue(encoder.encode(text))
        const tell: Watcher['tell'] = (event, data) => {
          if ((controller.desiredSize ?? 0) <= -patience) return end()
          write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
        }
        const watcher = { tell, end }
        const timer = setTimeout(end, longest)
        timer.unref?.()
        leave = () => {
          clearTimeout(timer)
          watchers.delete(watcher)
        }
        write(': watching\n\n')
        watchers.add(watcher)
        if (signal.aborted) end()
        signal.addEventListener('abort', end, { once: true })
      },
      cancel: () => leave(),
    },
    { highWaterMark: 1 },
  )
}
