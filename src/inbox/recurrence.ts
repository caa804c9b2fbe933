// A webhook of the event that reconcile has fed is a duplicate, by its name and its resource. A
// decision that was taken back and taken again has both in common: it is another by its time.
import { orAborted } from '../foundation/abortable.ts'
import { canRecur } from '../protocol/names.ts'
import type { StoredEntry } from './admin-store.ts'
import { unpackMetadata } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { Arrival } from './entry.ts'
import { type EntryDeps, toNewEntry } from './new-entry.ts'
import type { InboxStore } from './store.ts'
import type { Inserted, NewEntry } from './work-store.ts'

const minute = 60_000
const day = 24 * 60 * minute

/**
 * Inserts an arrival; one that is later than what reconcile has fed a second time, under a key of
 * its own. Where a crash comes between the two inserts, nothing is acknowledged yet, and the next
 * copy takes the same way.
 */
export async function insertOccurrence(
  store: Pick<InboxStore, 'insert' | 'find'>,
  arrival: Arrival,
  { signal, ...deps }: EntryDeps & { readonly signal: AbortSignal },
): Promise<Inserted> {
  const insert = (one: Arrival) => orAborted(store.insert(toNewEntry(one, deps), signal), signal)
  const inserted = await insert(arrival)
  const time = timeOf(arrival)
  if (inserted.kind !== 'duplicate' || time === undefined) return inserted
  const [first] = await orAborted(store.find({ ids: [inserted.id], limit: 1 }), signal)
  return first && isFed(first, deps.encryption) && isLater(time, first)
    ? insert({ ...arrival, recurs: true })
    : inserted
}

/**
 * The entry that an arrival becomes which was read late. It looks first: where it is a duplicate, the
 * store erases it in the same commit.
 */
export async function assignedEntry(
  store: Pick<InboxStore, 'find'>,
  arrival: Arrival,
  deps: EntryDeps,
): Promise<NewEntry> {
  const entry = toNewEntry(arrival, deps)
  const { lane, name, aliases } = entry
  const time = timeOf(arrival)
  // Last of all: what was fed and what a webhook tells of it have this key in common.
  const key = aliases?.at(-1)?.key
  if (time === undefined || name === undefined || key === undefined) return entry
  const tenant = lane.split('.')[1] ?? ''
  const text = { part: key, keys: [key] }
  const [first] = await store.find({ lane, name, tenant, text, limit: 1 })
  if (!first || !isFed(first, deps.encryption) || !isLater(time, first)) return entry
  const { occurrence: _, ...another } = arrival
  return toNewEntry(another, deps)
}

/** The earliest time that it states: its envelope may name the time of sending. */
function timeOf({ name, source, occurrence, occurredAt, updatedAt }: Arrival): number | undefined {
  if (source !== 'webhook' || occurrence === undefined || !canRecur(name ?? '')) return undefined
  const times = [occurredAt, updatedAt].flatMap((time) => time?.getTime() ?? [])
  return times.length > 0 ? Math.min(...times) : undefined
}

/** A replayed one has no headers, where reconcile has made it; of an erased one nobody can tell. */
function isFed({ id, source, metadata }: StoredEntry, encryption: Encryption): boolean {
  if (source !== 'replay') return source === 'reconcile'
  const known = metadata && unpackMetadata(id, metadata, encryption)
  return known === undefined || known.headers.length === 0
}

/**
 * Reconcile read the record after the event, so the webhook of that states no later time, but for
 * the moment between a change and its event. An expiry may be recorded hours after it was due.
 */
function isLater(time: number, { name, occurredAt }: StoredEntry): boolean {
  const slack = name === 'verification.expired' ? day : 5 * minute
  return occurredAt !== undefined && time > occurredAt + slack
}
