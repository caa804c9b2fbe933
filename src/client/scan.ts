// Reads what changed since a time, page by page, from lists that cannot be asked for that. It stops
// early only while the answers prove that the newest come first.
import { type Client, limits, type Verification } from '../protocol/resources.ts'
import type { ApiClient } from './create-client.ts'
import { falling } from './falling.ts'
import type { Page } from './pager.ts'
import type { Stream } from './watermark.ts'

/** Records of one page, those that changed before the bound among them. */
export type Scanned =
  | { readonly of: 'verification'; readonly items: readonly Verification[] }
  | { readonly of: 'client'; readonly items: readonly Client[] }

/** The part of a client that reading uses. */
export interface Lists {
  readonly verifications: Pick<ApiClient['verifications'], 'iterate'>
  readonly clients: Pick<ApiClient['clients'], 'iterate'>
}

/** How a stream is read. */
export interface ScanOptions {
  /** Milliseconds since the epoch: older changes need not be read. */
  readonly from: number
  readonly signal?: AbortSignal | undefined
}

const day = 24 * 60 * 60_000

/** Reads a stream; a record may come twice where the list had to be read anew. */
export function scan(api: Lists, stream: Stream, options: ScanOptions): AsyncGenerator<Scanned> {
  return stream === 'verifications'
    ? scanVerifications(api, options)
    : scanClients(api, stream, options)
}

async function* scanVerifications(
  api: Lists,
  { from, signal }: ScanOptions,
): AsyncGenerator<Scanned> {
  const options = signal && { signal }
  const list = api.verifications.iterate({ sort: 'updated_at' }, options)
  const order = falling<Verification>(({ updatedAt }) => updatedAt)
  for await (const { data: items } of list.pages()) {
    yield { of: 'verification', items }
    if (!order.holds(items)) break
    if (order.isBefore(from)) return yield* scanExpired(api, { from, signal })
  }
  if (order.holds([])) return
  // In any other order what changes meanwhile can shift others out of sight; by creation it cannot.
  const stable = api.verifications.iterate({ sort: 'created_at' }, options)
  for await (const { data: items } of stable.pages()) yield { of: 'verification', items }
}

/**
 * Whether an expiry touches `updatedAt` is not documented. The newest expired ones show it: while
 * each was updated at its expiry or later, the list by update has them all, and one page is enough.
 */
async function* scanExpired(api: Lists, { from, signal }: ScanOptions): AsyncGenerator<Scanned> {
  // What expires after the bound was created so long before it, at most (section 4.1).
  const dateFrom = new Date(from - (limits.expiresDays.max + 1) * day)
  const query = { status: 'expired', sort: 'created_at', dateFrom } as const
  let first = true
  for await (const { data } of api.verifications.iterate(query, signal && { signal }).pages()) {
    const untouched = data.filter(
      ({ updatedAt, expiresAt }) => !(Date.parse(updatedAt) >= Date.parse(expiresAt)),
    )
    if (first && untouched.length === 0) return
    first = false
    yield { of: 'verification', items: untouched }
  }
}

async function* scanClients(
  api: Lists,
  stream: 'clients' | 'deletions',
  { from, signal }: ScanOptions,
): AsyncGenerator<Scanned> {
  // No sort by update (section 4.5): every deleted client is read.
  const filter = stream === 'deletions' ? ({ active: false } as const) : {}
  const list = api.clients.iterate({ ...filter, sort: 'created_at' }, signal && { signal })
  const order = falling<Client>(({ createdAt }) => createdAt)
  for await (const { data: items } of list.pages() as AsyncIterable<Page<Client>>) {
    yield { of: 'client', items }
    if (order.holds(items) && stream === 'clients' && order.isBefore(from)) return
  }
}
