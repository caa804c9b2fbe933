// The cases of the conformance suite, for any test runner, and what they share.
import { isBytes } from '../../src/foundation/bytes.ts'
import { defined } from '../../src/foundation/defined.ts'
import type { InboxStore } from '../../src/inbox/store.ts'
import type { Claimed, Lapsed, Lease, NewEntry, Settlement } from '../../src/inbox/work-store.ts'

/** Checks by the words of the promises that they prove. */
export type StoreCases = Readonly<Record<string, StoreCheck>>
export type StoreCheck = (store: InboxStore, handles: StoreHandles) => Promise<void>

/** Other handles on the data of the store under test. */
export interface StoreHandles {
  /** Closes the store and reopens what it has left, if anything survives. */
  again(): Promise<InboxStore>
  /** An open handle beside the store, as another process has it; for shared stores. */
  beside(wake?: () => void): Promise<InboxStore>
}

export const start = Date.UTC(2026, 0, 1)
export const day = 24 * 60 * 60 * 1000
export const failures = [{ handler: 'h', code: 'HANDLER_FAILED', error: 'Error' }]
export const failed = { reason: 'HANDLER_FAILED', failures } as const
/** The end of an attempt whose process has crashed. */
export const crashed = { to: 'retry', due: start, reason: 'CRASHED', failures: [] } as const
export const none = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }

let made = 0

/** A fresh entry; each has its own id, key, lane and bytes unless overridden. */
export function newEntry(given: Partial<NewEntry> = {}): NewEntry {
  const id = `entry-${String(++made).padStart(6, '0')}`
  const entry = {
    id,
    lane: `lane of ${id}`,
    key: `key of ${id}`,
    digest: `digest of ${id}`,
    name: 'verification.approved',
    receivedName: 'verification.approved',
    source: 'webhook' as const,
    storedAt: start,
    bytes: 3,
    metadata: Uint8Array.of(1, made % 256),
    body: Uint8Array.of(2, made % 256, 255),
  }
  return { ...entry, ...given }
}

/** Claims the entries that are due. */
export async function claim(
  store: InboxStore,
  limit = 10,
  now = start,
): Promise<readonly Claimed[]> {
  return (await store.claim({ now, limit, until: now + 60_000 })).entries
}

/** Claims one entry, or fails. */
export async function claimOne(store: InboxStore, now = start): Promise<Claimed> {
  const [entry] = await claim(store, 1, now)
  if (!entry) throw new Error('nothing was claimed')
  return entry
}

type Settling = Settlement extends infer One
  ? One extends Settlement
    ? Omit<One, 'lease' | 'at' | 'handled'> & { handled?: readonly string[]; at?: number }
    : never
  : never

/** The lease of a claimed entry, without its other fields. */
export function leaseOf({ id, fence, owner }: Lease): Lease {
  return defined({ id, fence, owner })
}

/** The entry as `lapsed` returns it once its holder is gone. */
export function lapsedOf(claimed: Claimed): Lapsed {
  const { attempt, name, storedAt } = claimed
  return defined({ ...leaseOf(claimed), attempt, name, storedAt })
}

/** Settles an attempt. */
export function settle(store: InboxStore, claimed: Claimed, ending: Settling): Promise<boolean> {
  const lease = leaseOf(claimed)
  return store.settle({ at: start, handled: [], ...ending, lease } as Settlement)
}

/** Settles the attempt that is claimed next. */
export async function settleNext(store: InboxStore, ending: Settling): Promise<boolean> {
  return settle(store, await claimOne(store), ending)
}

/** Keeps an entry for each given part, completed by `newEntry`. */
export async function kept<const Given extends readonly Partial<NewEntry>[]>(
  store: InboxStore,
  ...given: Given
): Promise<{ readonly [At in keyof Given]: NewEntry }> {
  const entries = given.map((one) => newEntry(one))
  for (const entry of entries) await store.insert(entry)
  // One entry for each given part.
  return entries as { readonly [At in keyof Given]: NewEntry }
}

/** Stores a new entry, then claims the entry that is due next. */
export async function claimNew(store: InboxStore, given: Partial<NewEntry> = {}): Promise<Claimed> {
  await store.insert(newEntry(given))
  return claimOne(store)
}

/** Stores an entry, claims it and settles it as done. */
export async function done(store: InboxStore, given: Partial<NewEntry>): Promise<NewEntry> {
  const [entry] = await kept(store, given)
  await settleNext(store, { to: 'done' })
  return entry
}

/** Opens ended entries again; returns how many. */
export function reopen(
  store: InboxStore,
  from: 'dead' | 'done' | 'retry' | 'skipped',
  entries: readonly { readonly id: string }[],
  now = start,
): Promise<number> {
  return store.reopen({ ids: idsOf(entries), from: [from], now, replay: from === 'done' })
}

export function idsOf(entries: readonly { readonly id: string }[]): string[] {
  return entries.map(({ id }) => id)
}

/**
 * Compares deeply, under any test runner; a missing field equals an undefined one.
 *
 * @throws Error that shows both when they differ
 */
export function same(actual: unknown, expected: unknown, when = ''): void {
  const [is, should] = [JSON.stringify(plain(actual)), JSON.stringify(plain(expected))]
  if (is === should) return
  throw new Error(`${when && `${when}: `}expected ${should}, got ${is}`)
}

/** Bytes as a text, whatever class of them a library gives; fields in the order of their names. */
function plain(value: unknown): unknown {
  if (isBytes(value)) return `bytes ${Array.from(value).join(' ')}`
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const sorted = Object.entries(defined(value)).sort(([one], [two]) => (one < two ? -1 : 1))
  return Object.fromEntries(sorted.map(([name, field]) => [name, plain(field)]))
}
