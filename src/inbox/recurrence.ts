// A webhook of an event that reconcile fed is a duplicate, by name and resource. A decision that
// was reversed and made again has the same name and resource: its time makes it another event.
import { canRecur } from '../protocol/names.ts'
import type { StoredEntry } from './admin-store.ts'
import { unpackMetadata } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { Arrival } from './entry.ts'
import { type EntryDeps, toNewEntry } from './new-entry.ts'
import type { InboxStore } from './store.ts'
import type { NewEntry } from './work-store.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** The entry of an arrival under another key, if it is later than its duplicate that reconcile fed. */
export async function toRecurrence(
  store: Pick<InboxStore, 'find'>,
  arrival: Arrival,
  { duplicate, ...deps }: EntryDeps & { readonly duplicate: string },
): Promise<NewEntry | undefined> {
  const time = timeOf(arrival)
  if (time === undefined) return undefined
  const [first] = await store.find({ ids: [duplicate], limit: 1 })
  if (!first || !isFed(first, deps.encryption) || !isLater(time, first)) return undefined
  return toNewEntry({ ...arrival, recurs: true }, deps)
}

/** Searches before the entry is assigned: the store erases a duplicate in the same commit. */
export async function assignedEntry(
  store: Pick<InboxStore, 'find'>,
  arrival: Arrival,
  deps: EntryDeps,
): Promise<NewEntry> {
  const entry = toNewEntry(arrival, deps)
  const { lane, name, aliases } = entry
  const time = timeOf(arrival)
  // A webhook and reconcile share the last alias.
  const key = aliases?.at(-1)?.key
  if (time === undefined || name === undefined || key === undefined) return entry
  const tenant = lane.split('.')[1] ?? ''
  const text = { part: key, keys: [key] }
  const [first] = await store.find({ lane, name, tenant, text, limit: 1 })
  if (!first || !isFed(first, deps.encryption) || !isLater(time, first)) return entry
  const { occurrence: _, ...another } = arrival
  return toNewEntry(another, deps)
}

/** The earliest time of the event: its envelope may state the time of sending. */
function timeOf({ name, source, occurrence, occurredAt, updatedAt }: Arrival): number | undefined {
  if (source !== 'webhook' || occurrence === undefined || !canRecur(name ?? '')) return undefined
  const times = [occurredAt, updatedAt].flatMap((time) => time?.getTime() ?? [])
  return times.length > 0 ? Math.min(...times) : undefined
}

/** True if reconcile fed the entry: a replayed entry shows it by having no headers. */
function isFed({ id, source, metadata }: StoredEntry, encryption: Encryption): boolean {
  if (source !== 'replay') return source === 'reconcile'
  const known = metadata && unpackMetadata(id, metadata, encryption)
  return known === undefined || known.headers.length === 0
}

/**
 * Reconcile read the record after the event, so the webhook of the same event states no later time,
 * apart from the delay between a change and its event. An expiry may be recorded hours late.
 */
function isLater(time: number, { name, occurredAt }: StoredEntry): boolean {
  const slack = name === 'verification.expired' ? day : 5 * minute
  return occurredAt !== undefined && time > occurredAt + slack
}
