// Reads what changed since a time, page by page, from lists that have no such filter. It stops early
// only while the responses prove that the newest come first.
import { parseTime } from '../protocol/json-paths.ts'
import { type Client, limits } from '../protocol/resources.ts'
import { falling } from './falling.ts'
import type { Page } from './pager.ts'
import { type Lists, type Scanned, type ScanOptions, scanUpdates } from './scan-updates.ts'
import type { Stream } from './watermark.ts'

const day = 24 * 60 * 60_000

/** Reads a stream; a record may come twice if the list had to be read again. */
export function scan(api: Lists, stream: Stream, options: ScanOptions): AsyncGenerator<Scanned> {
  return stream === 'verifications'
    ? scanVerifications(api, options)
    : scanClients(api, stream, options)
}

async function* scanVerifications(api: Lists, options: ScanOptions): AsyncGenerator<Scanned> {
  const read = yield* scanUpdates(api, options)
  if (read === 'reached') yield* scanExpired(api, options)
  if (read !== 'unsorted') return
  // In any other order a change can shift other records out of sight; by creation it cannot.
  const { asking } = options
  for await (const { data } of api.verifications.iterate({}, asking).pages()) {
    yield { of: 'verification', items: data }
  }
}

/**
 * It is undocumented whether an expiry touches `updatedAt`. The newest expired records show it: if
 * each was updated at its expiry or later, the list by update has them all, and one page suffices.
 */
async function* scanExpired(api: Lists, { from, asking }: ScanOptions): AsyncGenerator<Scanned> {
  // Records that expire after the bound were created at most this long before it (section 4.1).
  const dateFrom = new Date(from - (limits.expiresDays.max + 1) * day)
  const query = { status: 'expired', dateFrom } as const
  let first = true
  for await (const { data } of api.verifications.iterate(query, asking).pages()) {
    const untouched = data.filter(
      ({ updatedAt, expiresAt }) => !(parseTime(updatedAt) >= parseTime(expiresAt)),
    )
    if (first && untouched.length === 0) return
    first = false
    yield { of: 'verification', items: untouched }
  }
}

async function* scanClients(
  api: Lists,
  stream: 'clients' | 'deletions',
  { from, asking }: ScanOptions,
): AsyncGenerator<Scanned> {
  // The list has no sort by update (section 4.5), so every deleted client is read.
  const filter = stream === 'deletions' ? ({ active: false } as const) : {}
  const list = api.clients.iterate({ ...filter, sort: 'created_at' }, asking)
  const order = falling<Client>(({ createdAt }) => createdAt)
  for await (const { data: items } of list.pages() as AsyncIterable<Page<Client>>) {
    yield { of: 'client', items }
    if (order.holds(items) && stream === 'clients' && order.isBefore(from)) return
  }
}
