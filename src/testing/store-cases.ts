// What every store must do, as cases that any test runner can run: what is kept, claimed, settled.
import { defined } from '../defined.ts'
import type { InboxStore } from '../inbox/store.ts'
import type { Claimed, Lapsed, Lease, NewEntry, Settlement } from '../inbox/work-store.ts'
import { same } from './same.ts'

/** One promise of the port, and the check that it is kept. */
export interface StoreCase {
  readonly name: string
  run(store: InboxStore, handles: StoreHandles): Promise<void>
  /** For stores of this capability alone. */
  readonly needs?: 'order' | 'restart' | 'tx' | 'shared'
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

/** A fresh entry; each has its own id, key, lane and bytes unless told otherwise. */
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
  if (!entry) throw new Error('there was nothing to claim')
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

/** What `lapsed` gives of it once its holder is gone. */
export function lapsedOf(claimed: Claimed): Lapsed {
  const { attempt, name, storedAt } = claimed
  return defined({ ...leaseOf(claimed), attempt, name, storedAt })
}

/** Settles an attempt. */
export function settle(store: InboxStore, claimed: Claimed, ending: Ending): Promise<boolean> {
  const lease = leaseOf(claimed)
  return store.settle({ at: start, handled: [], ...ending, lease } as Settlement)
}

const failed = { reason: 'HANDLER_FAILED', failures: [] } as const

export const keepingCases: readonly StoreCase[] = [
  {
    name: 'gives back exactly what was kept',
    run: async (store) => {
      const entry = newEntry({ occurredAt: start - 5, storedAt: start })
      same(await store.insert(entry), { kind: 'stored', id: entry.id })
      const claimed = await claimOne(store)
      const { id, name, source, occurredAt, storedAt, metadata, body } = entry
      const given = { id, name, source, occurredAt, storedAt, metadata, body }
      const { owner } = claimed
      same(claimed, { ...given, fence: 1, owner, attempt: 1, handled: [], gap: false })
    },
  },
  {
    name: 'keeps bytes that nobody understood: without a key or a name',
    run: async (store) => {
      const { key: _, name: __, receivedName: ___, ...bare } = newEntry()
      same((await store.insert(bare)).kind, 'stored')
      same((await store.insert({ ...bare, id: `${bare.id}-2`, lane: 'other' })).kind, 'stored')
      same((await claim(store)).length, 2)
    },
  },
  {
    name: 'tells a duplicate by its key, whatever became of the first',
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
    name: 'stores one of many that come with one key at once',
    run: async (store) => {
      const { key, digest } = newEntry()
      const copies = Array.from({ length: 64 }, () => newEntry({ key: key ?? '', digest }))
      const kinds = await Promise.all(copies.map((copy) => store.insert(copy)))
      same(kinds.filter(({ kind }) => kind === 'stored').length, 1)
      same(new Set(kinds.map(({ id }) => id)).size, 1)
    },
  },
  {
    name: 'keeps other bytes under a known key as evidence, once, and never hands them out',
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
    name: 'tells the same occurrence under another name, and only under another',
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
    name: 'remembers what is set beside the entries',
    run: async (store) => {
      same(await store.recall('salt', Uint8Array.of(1)), Uint8Array.of(1))
      same(await store.recall('salt', Uint8Array.of(2)), Uint8Array.of(1))
      await store.remember('salt', Uint8Array.of(3))
      same(await store.recall('salt', Uint8Array.of(4)), Uint8Array.of(3))
    },
  },
]

export const laneCases: readonly StoreCase[] = [
  {
    name: 'hands out one at a time and in arrival order for each lane',
    needs: 'order',
    run: async (store) => {
      const lane = 'one'
      const [first, second, other] = [newEntry({ lane }), newEntry({ lane }), newEntry()]
      for (const entry of [first, second, other]) await store.insert(entry)
      const [one, two, ...rest] = await claim(store)
      same([one?.id, two?.id, rest], [first.id, other.id, []])
      same(await claim(store), [])
      if (one) await settle(store, one, { to: 'done' })
      same((await claimOne(store)).id, second.id)
    },
  },
  {
    name: 'keeps the order of entries that came in one commit',
    needs: 'order',
    run: async (store) => {
      const entries = Array.from({ length: 200 }, () => newEntry({ lane: 'hot' }))
      await Promise.all(entries.map((entry) => store.insert(entry)))
      const order: string[] = []
      for (let left = entries.length; left > 0; left--) {
        const claimed = await claimOne(store)
        order.push(claimed.id)
        await settle(store, claimed, { to: 'done' })
      }
      same(
        order,
        entries.map(({ id }) => id),
      )
    },
  },
  {
    name: 'gives no more than asked, the longest waiting first',
    run: async (store) => {
      const young = newEntry({ storedAt: start + 2 })
      const old = newEntry({ storedAt: start + 1 })
      await store.insert(young)
      await store.insert(old)
      same(
        (await claim(store, 1, start + 5)).map(({ id }) => id),
        [old.id],
      )
      same(
        (await claim(store, 5, start + 5)).map(({ id }) => id),
        [young.id],
      )
    },
  },
  {
    name: 'holds a lane until its retry is due, tells when, and lets the others pass',
    run: async (store) => {
      const lane = 'retried'
      const [first, second, other] = [newEntry({ lane }), newEntry({ lane }), newEntry()]
      await store.insert(first)
      await store.insert(second)
      await settle(store, await claimOne(store), { to: 'retry', due: start + 500, ...failed })
      await store.insert(other)
      const now = start + 499
      const { entries, next } = await store.claim({ now, limit: 10, until: now + 1 })
      same([entries.map(({ id }) => id), next], [[other.id], start + 500])
      const retried = await claimOne(store, start + 500)
      same([retried.id, retried.attempt, retried.fence], [first.id, 2, 2])
    },
  },
  {
    name: 'goes on after a dead entry, and tells those behind of the gap',
    needs: 'order',
    run: async (store) => {
      const lane = 'gapped'
      const [first, second] = [newEntry({ lane }), newEntry({ lane })]
      await store.insert(first)
      await store.insert(second)
      await settle(store, await claimOne(store), { to: 'dead', hold: false, ...failed })
      const behind = await claimOne(store)
      same([behind.id, behind.gap], [second.id, true])
    },
  },
  {
    name: 'stops a lane at a dead entry that holds it, until that is redriven or dismissed',
    needs: 'order',
    run: async (store) => {
      const lane = 'held'
      const entries = [newEntry({ lane }), newEntry({ lane }), newEntry({ lane })]
      for (const entry of entries) await store.insert(entry)
      await settle(store, await claimOne(store), { to: 'dead', hold: true, ...failed })
      same(await claim(store), [], 'while it is dead')
      await store.insert(newEntry({ lane }))
      same(await claim(store), [], 'when another arrives')
      const ids = [entries[0]?.id ?? '']
      same(await store.reopen({ ids, from: ['dead'], now: start }), 1)
      const again = await claimOne(store)
      same([again.id, again.attempt], [ids[0], 1])
      await settle(store, again, { to: 'dead', hold: true, ...failed })
      same(
        [await store.dismiss(ids[0] ?? '', start), await store.dismiss('none', start)],
        [true, false],
      )
      same((await claimOne(store)).id, entries[1]?.id)
    },
  },
  {
    name: 'tells what was done last in a lane',
    run: async (store) => {
      const lane = 'marked'
      for (let at = 0; at < 3; at++) await store.insert(newEntry({ lane }))
      const first = await claimOne(store)
      same(first.highWaterMark, undefined)
      await settle(store, first, { to: 'done', highWaterMark: { at: 50, final: true } })
      const second = await claimOne(store)
      same(second.highWaterMark, { at: 50, final: true })
      await settle(store, second, { to: 'done', highWaterMark: { at: 40, final: false } })
      same((await claimOne(store)).highWaterMark, { at: 50, final: true })
    },
  },
]
