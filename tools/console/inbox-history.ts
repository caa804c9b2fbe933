// Arrivals over time, from the entries themselves, so that every process shows the same. It
// reads a bounded number of entries, and says how far back they reach.
import { defined } from '../../src/foundation/defined.ts'
import type { HandlerLatency } from '../../src/inbox/admin.ts'
import type { Entry, EntryState } from '../../src/inbox/entry.ts'
import type { EntryFilter } from '../../src/inbox/entry-query.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'

/** The spans that can be asked for, in milliseconds. */
export const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const

export type Span = keyof typeof spans

export interface Bucket {
  readonly at: string
  readonly counts: Readonly<Partial<Record<EntryState, number>>>
}

/** A handler with its times, and how many entries it failed at their last attempt. */
export type HandlerRow = Partial<HandlerLatency> & {
  readonly handler: string
  readonly failed: number
}

export interface History {
  readonly buckets: readonly Bucket[]
  readonly width: number
  readonly handlers: readonly HandlerRow[]
  /** The oldest entry that was read, where there were more. */
  readonly readBackTo?: string
}

const bars = 60
const pages = 10
const pageSize = 500

export type InboxReads = Pick<Inbox, 'find' | 'stats'>

/** Reads the entries of a span, newest first, at most five thousand of them. */
export async function historyOf(
  inbox: InboxReads,
  span: Span,
  { now, latencies }: { readonly now: Date; readonly latencies: readonly HandlerLatency[] },
): Promise<History> {
  const width = spans[span] / bars
  const end = Math.ceil(now.getTime() / width) * width
  const start = end - spans[span]
  const since = new Date(start)
  const { items, hasMore } = await readEntries(inbox, { since }, { count: pages * pageSize })
  const counts = Array.from({ length: bars }, () => ({}) as Record<EntryState, number>)
  const failures = new Map(latencies.map(({ handler }) => [handler, 0]))
  for (const { receivedAt, state, failures: failed } of items) {
    const at = Math.min(bars - 1, Math.max(0, Math.floor((receivedAt.getTime() - start) / width)))
    const own = counts[at]
    if (own) own[state] = (own[state] ?? 0) + 1
    for (const { handler } of failed) failures.set(handler, (failures.get(handler) ?? 0) + 1)
  }
  const oldest = items.at(-1)?.receivedAt.toISOString()
  return {
    width,
    buckets: counts.map((own, at) => ({
      at: new Date(start + at * width).toISOString(),
      counts: own,
    })),
    handlers: [...failures].map(([handler, failed]) => ({
      ...latencies.find((one) => one.handler === handler),
      handler,
      failed,
    })),
    ...(hasMore && oldest !== undefined && { readBackTo: oldest }),
  }
}

interface EntriesOptions {
  readonly count: number
  readonly fits?: (entry: Entry) => boolean
  readonly cursor?: string | undefined
}

/** Reads pages until enough entries fit what the store cannot filter by, at most ten pages. */
export async function readEntries(
  inbox: InboxReads,
  filter: EntryFilter,
  { count, fits, cursor }: EntriesOptions,
) {
  const entries: Entry[] = []
  let next = cursor
  for (let page = 0; page < pages && entries.length < count; page++) {
    const limit = fits ? pageSize : Math.min(pageSize, count)
    const found = await inbox.find({ ...filter, limit, ...defined({ cursor: next }) })
    entries.push(...(fits ? found.entries.filter(fits) : found.entries))
    next = found.cursor
    if (next === undefined) break
  }
  const hasMore = next !== undefined || entries.length > count
  return { items: entries.slice(0, count), hasMore, cursor: next }
}
