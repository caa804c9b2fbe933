// Cases for every store, for any test runner: keeping, claiming, settling.
import { defined } from '../../src/foundation/defined.ts'
import type { InboxStore } from '../../src/inbox/store.ts'
import type { Claimed, Lapsed, Lease, NewEntry, Settlement } from '../../src/inbox/work-store.ts'
import { same } from '../../src/testing/same.ts'

/** One promise of the port, and the check that it is kept. */
export interface StoreCase {
  readonly name: string
  run(store: InboxStore, handles: StoreHandles): Promise<void>
  /** For stores of this capability alone. */
  readonly needs?: 'order' | 'restart' | 'tx' | 'shared' | 'fairness'
}

/** Other handles on the data of the store under test. */
export interface StoreHandles {
  /** Closes the store and opens what it has left behind, where anything survives. */
  again(): Promise<InboxStore>
  /** An open handle beside the store, as another process has it; for shared stores. */
  beside(wake?: () => void): Promise<InboxStore>
}

const start = Date.UTC(2026, 0, 1)
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

/** Claims what is due. */
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

type Ending = Settlement extends infer One
  ? One extends Settlement
    ? Omit<One, 'lease' | 'at' | 'handled'> & { handled?: readonly string[]; at?: number }
    : never
  : never

/** The lease of what was claimed, without the rest. */
export function leaseOf({ id, fence, owner }: Lease): Lease {
  return defined({ id, fence, owner })
}

/** The entry as `lapsed` returns it once its holder is gone. */
export function lapsedOf(claimed: Claimed): Lapsed {
  const { attempt, name, storedAt } = claimed
  return defined({ ...leaseOf(claimed), attempt, name, storedAt })
}

/** Settles an attempt. */
export function settle(store: InboxStore, claimed: Claimed, ending: Ending): Promise<boolean> {
  const lease = leaseOf(claimed)
  return store.settle({ at: start, handled: [], ...ending, lease } as Settlement)
}

export const keepingCases: readonly StoreCase[] = [
  {
    name: 'returns exactly the bytes that were stored',
    run: async (store) => {
      const entry = newEntry({ occurredAt: start - 5, storedAt: start })
      same(await store.insert(entry), { kind: 'stored', id: entry.id })
      const claimed = await claimOne(store)
      const { id, name, source, occurredAt, storedAt, metadata, body } = entry
      const given = { id, name, source, occurredAt, storedAt, metadata, body }
      const { owner, seq } = claimed
      same(claimed, { ...given, fence: 1, owner, attempt: 1, seq, handled: [], gap: false })
    },
  },
  {
    name: 'gives copies of the bytes: a handler that writes into them changes no entry',
    run: async (store) => {
      const entry = newEntry()
      const { metadata, body } = structuredClone({ metadata: entry.metadata, body: entry.body })
      await store.insert(entry)
      const claimed = await claimOne(store)
      claimed.metadata?.fill(0)
      claimed.body?.fill(0)
      const find = async () => (await store.find({ limit: 1, withBody: true }))[0]
      for (const when of ['after a claim', 'after a search']) {
        const found = await find()
        same({ metadata: found?.metadata, body: found?.body }, { metadata, body }, when)
        found?.metadata?.fill(0)
        found?.body?.fill(0)
      }
    },
  },
  {
    name: 'stores bytes without a key or a name',
    run: async (store) => {
      const { key: _, name: __, receivedName: ___, ...bare } = newEntry()
      same((await store.insert(bare)).kind, 'stored')
      same((await store.insert({ ...bare, id: `${bare.id}-2`, lane: 'other' })).kind, 'stored')
      same((await claim(store)).length, 2)
    },
  },
  {
    name: 'detects a duplicate by its key, whatever the state of the first',
    run: async (store) => {
      const entry = newEntry()
      const again = () =>
        store.insert({ ...newEntry(), key: entry.key ?? '', digest: entry.digest })
      const duplicate = { kind: 'duplicate', id: entry.id }
      await store.insert(entry)
      same(await again(), duplicate, 'while stored')
      const claimed = await claimOne(store)
      same(await again(), duplicate, 'while leased')
      await settle(store, claimed, { to: 'done' })
      same(await again(), duplicate, 'when done')
      await store.forget(entry.lane, start)
      same(await again(), duplicate, 'when erased')
      same(await claim(store), [])
      same((await store.stats(start)).counts.done, 1)
    },
  },
  {
    name: 'stores one of many concurrent entries with the same key',
    run: async (store) => {
      const { key, digest } = newEntry()
      const copies = Array.from({ length: 64 }, () => newEntry({ key: key ?? '', digest }))
      const kinds = await Promise.all(copies.map((copy) => store.insert(copy)))
      same(kinds.filter(({ kind }) => kind === 'stored').length, 1)
      same(new Set(kinds.map(({ id }) => id)).size, 1)
    },
  },
  {
    name: 'keeps other bytes under a known key as evidence, once, and never claims them',
    run: async (store) => {
      const entry = newEntry()
      const other = newEntry({ key: entry.key ?? '' })
      await store.insert(entry)
      same(await store.insert(other), { kind: 'conflict', id: entry.id })
      same(
        await store.insert(newEntry({ key: entry.key ?? '', digest: other.digest })),
        { kind: 'conflict', id: entry.id },
        'the same other bytes again',
      )
      same(
        (await claim(store)).map(({ id }) => id),
        [entry.id],
      )
      const evidence = await store.find({ states: ['skipped'], limit: 10, withBody: true })
      same(
        evidence.map(({ id, reason, conflictOf, body }) => ({ id, reason, conflictOf, body })),
        [{ id: other.id, reason: 'CONFLICT', conflictOf: entry.id, body: other.body }],
      )
    },
  },
  {
    name: 'keeps the evidence of at most eight conflicts with one key',
    run: async (store) => {
      const entry = newEntry()
      await store.insert(entry)
      for (let at = 0; at < 12; at++) {
        const kept = await store.insert(newEntry({ key: entry.key ?? '' }))
        same(kept, { kind: 'conflict', id: entry.id })
      }
      same((await store.find({ states: ['skipped'], limit: 20 })).length, 8)
    },
  },
  {
    name: 'detects the same occurrence under another name, and only under another',
    run: async (store) => {
      const aliases = (name: string) => [{ key: 'occurrence', name }]
      const first = newEntry({ aliases: aliases('old') })
      const second = newEntry({ aliases: aliases('new') })
      await store.insert(first)
      same(await store.insert(second), { kind: 'duplicate', id: first.id })
      same(
        await store.insert({ ...second, id: `${second.id}-again` }),
        { kind: 'duplicate', id: first.id },
        'the second one again',
      )
      same((await store.insert(newEntry({ aliases: aliases('old') }))).kind, 'stored')
    },
  },
  {
    name: 'keeps the values that are set beside the entries',
    run: async (store) => {
      same(await store.recall('salt', Uint8Array.of(1)), Uint8Array.of(1))
      same(await store.recall('salt', Uint8Array.of(2)), Uint8Array.of(1))
      await store.remember('salt', Uint8Array.of(3))
      same(await store.recall('salt', Uint8Array.of(4)), Uint8Array.of(3))
    },
  },
]
