// Reads what changed since a time, page by page, from lists that have no such filter. It stops early
// only while the responses prove that the newest come first. A record that changes meanwhile jumps to a
// page that was already read, so the front is read again.
import { parseTime } from '../protocol/json-paths.ts'
import { type Client, limits, type Verification } from '../protocol/resources.ts'
import type { CallOptions } from './api-error.ts'
import type { ApiClient } from './create-client.ts'
import type { Page } from './pager.ts'
import type { Stream } from './watermark.ts'

/** Records of one page, including records that changed before the bound. */
export type Scanned =
  | { readonly of: 'verification'; readonly items: readonly Verification[] }
  | { readonly of: 'client'; readonly items: readonly Client[] }

/** The part of a client that reading uses. */
export interface Lists {
  readonly verifications: Pick<ApiClient['verifications'], 'iterate'>
  readonly clients: Pick<ApiClient['clients'], 'iterate'>
}

interface ScanOptions {
  /** Milliseconds since the epoch: older changes need not be read. */
  readonly from: number
  readonly asking: CallOptions
}

/** Reads what was updated since a bound, then what moved to the front meanwhile or has expired. */
async function* scanVerifications(
  api: Lists,
  { from, asking }: ScanOptions,
): AsyncGenerator<Scanned> {
  const order = falling<Verification>(({ updatedAt }) => updatedAt)
  let front: readonly Verification[] | undefined
  let pages = 0
  for await (const { data: items } of byUpdate(api, asking)) {
    pages += 1
    front ??= items
    yield { of: 'verification', items }
    if (!order.holds(items)) return yield* scanCreated(api, asking)
    if (order.isBefore(from)) break
  }
  // A single page shows one moment: no record can have moved within it.
  if (front && pages > 1) yield* scanMoved(api, front, asking)
  if (order.isBefore(from)) yield* scanExpired(api, { from, asking })
}

/** Reads by creation: in any other order a change can shift other records out of sight. */
async function* scanCreated(api: Lists, asking: CallOptions): AsyncGenerator<Scanned> {
  for await (const { data } of api.verifications.iterate({}, asking).pages()) {
    yield { of: 'verification', items: data }
  }
}

/** Reads the front once more: records that were updated since its first page was read. */
async function* scanMoved(
  api: Lists,
  front: readonly Verification[],
  asking: CallOptions,
): AsyncGenerator<Scanned> {
  const seen = new Set(front.map(stateOf))
  const newest = Math.max(...front.map(timeOf).filter((time) => !Number.isNaN(time)))
  for await (const { data } of byUpdate(api, asking)) {
    const items = data.filter((item) => timeOf(item) >= newest && !seen.has(stateOf(item)))
    if (items.length > 0) yield { of: 'verification', items }
    if (data.some((item) => timeOf(item) < newest)) return
  }
}

function byUpdate(api: Lists, asking: CallOptions) {
  return api.verifications.iterate({ sort: 'updated_at' }, asking).pages()
}

function stateOf({ id, updatedAt }: Verification): string {
  return `${updatedAt} ${id}`
}

function timeOf({ updatedAt }: Verification): number {
  return parseTime(updatedAt)
}

const day = 24 * 60 * 60_000

/** Reads a stream; a record may come twice if the list had to be read again. */
export function scan(api: Lists, stream: Stream, options: ScanOptions): AsyncGenerator<Scanned> {
  return stream === 'verifications'
    ? scanVerifications(api, options)
    : scanClients(api, stream, options)
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

/** Observes whether the times of records never rise, over all pages. */
function falling<Item>(timeOf: (item: Item) => string) {
  let last = Number.POSITIVE_INFINITY
  let first: number | undefined
  let holds = true
  return {
    holds(items: readonly Item[]): boolean {
      for (const item of items) {
        const time = parseTime(timeOf(item))
        first ??= time
        if (!(time <= last)) holds = false
        last = time
      }
      return holds
    },
    /** All later records are older. A page of records of one time proves no order. */
    isBefore: (time: number) => last < time && first !== undefined && last < first,
  }
}
