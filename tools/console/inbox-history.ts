// Arrivals over time, from the entries themselves, so that every process shows the same. It
// reads a bounded number of entries, and says how far back they reach.
import type { Entry, EntryState } from '../../src/inbox/entry.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'

/** The spans that can be asked for, in milliseconds. */
export const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const

export type Span = keyof typeof spans

/** One bar of the chart: how many entries of each state arrived in it. */
export interface Bucket {
  readonly at: string
  readonly counts: Readonly<Partial<Record<EntryState, number>>>
}

export interface History {
  readonly buckets: readonly Bucket[]
  /** Milliseconds of each. */
  readonly width: number
  /** Handlers and how many entries each failed at their last attempt. */
  readonly failures: Readonly<Record<string, number>>
  /** The oldest entry that was read, where there were more. */
  readonly readBackTo?: string
}

const bars = 60
const pages = 10
const pageSize = 500

/** The methods of an inbox that the console reads with. */
export type InboxReads = Pick<Inbox, 'find' | 'stats'>

/** Reads the entries of a span, newest first, at most five thousand of them. */
export async function historyOf(inbox: InboxReads, span: Span, now: Date): Promise<History> {
  const width = spans[span] / bars
  const end = Math.ceil(now.getTime() / width) * width
  const start = end - spans[span]
  const { entries, whole } = await entriesSince(inbox, new Date(start))
  const counts = Array.from({ length: bars }, () => ({}) as Record<EntryState, number>)
  const failures: Record<string, number> = {}
  for (const { receivedAt, state, failures: failed } of entries) {
    const at = Math.min(bars - 1, Math.max(0, Math.floor((receivedAt.getTime() - start) / width)))
    const own = counts[at]
    if (own) own[state] = (own[state] ?? 0) + 1
    for (const { handler } of failed) failures[handler] = (failures[handler] ?? 0) + 1
  }
  const oldest = entries.at(-1)?.receivedAt.toISOString()
  return {
    width,
    buckets: counts.map((own, at) => ({
      at: new Date(start + at * width).toISOString(),
      counts: own,
    })),
    failures,
    ...(!whole && oldest !== undefined && { readBackTo: oldest }),
  }
}

async function entriesSince(inbox: InboxReads, since: Date) {
  const entries: Entry[] = []
  let cursor: string | undefined
  for (let page = 0; page < pages; page++) {
    const found = await inbox.find({ since, limit: pageSize, ...(cursor && { cursor }) })
    entries.push(...found.entries)
    cursor = found.cursor
    if (cursor === undefined) return { entries, whole: true }
  }
  return { entries, whole: false }
}
