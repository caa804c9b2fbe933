// Changes of an inbox as server-sent events, over any store and any number of processes.
import type { Context } from 'hono'
import { streamSSE } from 'hono/streaming'
import { steadyClock } from '../../src/foundation/clock.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import { ConsoleRefusal } from './access.ts'

/** A page asks again after this time, so that `authorize` is asked again too. */
const maxStreamMs = 5 * 60_000

export type OpenStream = (context: Context, isServing: () => boolean) => Response

/**
 * Reads the inbox every `interval` milliseconds, once for all pages. It does not open an inbox that
 * was closed: a process that ends would take it from its successor.
 */
export function createInboxStream(
  inbox: Pick<Inbox, 'find' | 'stats' | 'isClosed'>,
  interval: number,
): OpenStream {
  const read = async () => {
    const [stats, { entries }] = await Promise.all([inbox.stats(), inbox.find({ limit: 50 })])
    const { lag: _, oldestAge: __, ...counts } = stats
    const states = entries.map(({ id, state, attempts }) => [id, state, attempts])
    return { stats, seen: JSON.stringify([counts, states]) }
  }
  let latest: { readonly at: number; readonly read: ReturnType<typeof read> } | undefined
  const readOnce = () => {
    const now = steadyClock().getTime()
    if (!latest || now - latest.at > interval * 0.9) latest = { at: now, read: read() }
    return latest.read
  }
  return (context, isServing) => {
    if (inbox.isClosed) throw new ConsoleRefusal(503, 'STORE_UNAVAILABLE', 'The inbox is closed')
    const response = streamSSE(context, async (stream) => {
      const send = (event: string, data: unknown = {}) =>
        stream.writeSSE({ event, data: JSON.stringify(data) })
      await stream.write(': watching\n\n')
      let before: string | undefined
      let isFailing = false
      for (let left = Math.ceil(maxStreamMs / interval); left > 0; left--) {
        if (stream.aborted || inbox.isClosed || !isServing()) return
        const now = await readOnce().catch(() => undefined)
        if (!now || isFailing) await send(now ? 'available' : 'unavailable')
        isFailing = !now
        if (now) await send('stats', now.stats)
        if (now && before !== undefined && before !== now.seen) await send('changed')
        before = now?.seen ?? before
        await stream.sleep(interval)
      }
    })
    // These belong to HTTP/1.1; HTTP/2 does not allow them.
    for (const name of ['connection', 'transfer-encoding']) response.headers.delete(name)
    // A proxy that compresses or buffers would hold the events back.
    response.headers.set('cache-control', 'no-store, no-transform')
    response.headers.set('x-accel-buffering', 'no')
    return response
  }
}
