// Reads what changed since a time, page by page, from lists that have no such filter. It stops early
// only while the responses prove that the newest come first. A record that changes meanwhile jumps to a
// page that was already read, so the front is read again.
import { parseTime } from '../protocol/json-paths.ts'
import { type Client, limits, type Verification } from '../protocol/resources.ts'
import type { CallOptions } from './api-error.ts'
import type { ApiClient } from './create-client.ts'
import { falling, type Page } from './pager.ts'
import type { Stream } from './watermark.ts'

/** Records of one page, including those that changed before the bound. */
export type Scanned =
  | { readonly of: 'verification'; readonly items: readonly Verification[] }
  | { readonly of: 'client'; readonly items: readonly Client[] }

/** The part of a client that reading uses. */
export interface Lists {
  readonly verifications: Pick<ApiClient['verifications'], 'iterate'>
  readonly clients: Pick<ApiClient['clients'], 'iterate'>
}

/** How a stream is read. */
interface ScanOptions {
  /** Milliseconds since the epoch: older changes need not be read. */
  readonly from: number
  /** How pages are asked for. */
  readonly asking: CallOptions
}

/** `reached`: the bound; `ended`: the list; `unsorted`: another order, which proves nothing. */
type UpdatesRead = 'reached' | 'ended' | 'unsorted'

/** How many times the front is read again; after that the next run finds the rest. */
const mostPasses = 10

/** Reads what was updated since a bound, and then what moved to the front meanwhile. */
async function* scanUpdates(
  api: Lists,
  { from, asking }: ScanOptions,
): AsyncGenerator<Scanned, UpdatesRead> {
  const order = falling<Verification>(({ updatedAt }) => updatedAt)
  const front = new Front()
  let pages = 0
  let read: UpdatesRead = 'ended'
  for await (const { data: items } of byUpdate(api, asking)) {
    pages += 1
    if (pages === 1) front.moveTo(items)
    front.fresh(items)
    yield { of: 'verification', items }
    if (!order.holds(items)) return 'unsorted'
    if (!order.isBefore(from)) continue
    read = 'reached'
    break
  }
  // A single page shows one moment: nothing can have moved within it.
  if (pages > 1) yield* scanMoved(api, front, asking)
  return read
}

/** Reads the front again until that takes one page, or shows nothing new. */
async function* scanMoved(api: Lists, front: Front, asking: CallOptions): AsyncGenerator<Scanned> {
  for (let pass = 0; pass < mostPasses; pass++) {
    let pages = 0
    let found = 0
    let first: readonly Verification[] = []
    for await (const { data } of byUpdate(api, asking)) {
      pages += 1
      if (pages === 1) first = data
      const items = front.fresh(data)
      found += items.length
      if (items.length > 0) yield { of: 'verification', items }
      if (front.isPassed(data)) break
    }
    if (pages < 2 || found === 0) return
    front.moveTo(first)
  }
}

function byUpdate(api: Lists, asking: CallOptions) {
  return api.verifications.iterate({ sort: 'updated_at' }, asking).pages()
}

/** The records updated since the first page was read, and which of them were seen as they are. */
class Front {
  readonly #seen = new Set<string>()
  #since = Number.NEGATIVE_INFINITY

  /** Starts the front at the newest update of a first page. */
  moveTo(items: readonly Verification[]): void {
    const times = items.map(timeOf).filter((time) => !Number.isNaN(time))
    this.#since = Math.max(this.#since, ...times)
  }

  /** The records of the front that were not yet seen in their current state. */
  fresh(items: readonly Verification[]): readonly Verification[] {
    return items.filter((item) => {
      const state = `${item.updatedAt} ${item.id}`
      if (timeOf(item) < this.#since || this.#seen.has(state)) return false
      this.#seen.add(state)
      return true
    })
  }

  isPassed(items: readonly Verification[]): boolean {
    return items.some((item) => timeOf(item) < this.#since)
  }
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
