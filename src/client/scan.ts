// Reads what changed since a time, page by page, from lists that cannot be asked for that. It stops
// early only while the answers prove that the newest come first.
import type { Client, Verification } from '../protocol/resources.ts'
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

/** Reads a stream; a record may come twice where the list had to be read anew. */
export async function* scan(
  api: Lists,
  stream: Stream,
  { from, signal }: ScanOptions,
): AsyncGenerator<Scanned> {
  const options = signal && { signal }
  if (stream === 'verifications') {
    const list = api.verifications.iterate({ sort: 'updated_at' }, options)
    const order = falling<Verification>(({ updatedAt }) => updatedAt)
    for await (const { data: items } of list.pages()) {
      yield { of: 'verification', items }
      if (!order.holds(items)) break
      if (order.isBefore(from)) return
    }
    if (order.holds([])) return
    // In any other order what changes meanwhile can shift others out of sight; by creation it cannot.
    const stable = api.verifications.iterate({ sort: 'created_at' }, options)
    for await (const { data: items } of stable.pages()) yield { of: 'verification', items }
    return
  }
  // No sort by update (section 4.5): every deleted client is read.
  const filter = stream === 'deletions' ? ({ active: false } as const) : {}
  const list = api.clients.iterate({ ...filter, sort: 'created_at' }, options)
  const order = falling<Client>(({ createdAt }) => createdAt)
  for await (const { data: items } of list.pages() as AsyncIterable<Page<Client>>) {
    yield { of: 'client', items }
    if (order.holds(items) && stream === 'clients' && order.isBefore(from)) return
  }
}
