// Cases for every store when the clock was set or the policy of dead entries has changed, and
// when what is past its time still holds a lane.
import { same } from '../../src/testing/same.ts'
import { claim, claimOne, newEntry, type StoreCase, settle } from './store-cases.ts'

const start = Date.UTC(2026, 0, 1)
const day = 24 * 60 * 60 * 1000
const failed = { reason: 'HANDLER_FAILED', failures: [] } as const
const alignment = { now: start, latest: start + 1_000, free: true }

export const aligningCases: readonly StoreCase[] = [
  {
    name: 'does not delay stored entries because an earlier clock was ahead',
    needs: 'order',
    run: async (store) => {
      const lane = 'ahead'
      const [first, second] = [newEntry({ lane }), newEntry({ lane })].map((entry) => {
        return { ...entry, storedAt: start + day }
      }) as [ReturnType<typeof newEntry>, ReturnType<typeof newEntry>]
      for (const entry of [first, second]) await store.insert(entry)
      same(await claim(store), [], 'before the lanes are in line')
      await store.align(alignment)
      same((await store.stats(start)).due, start)
      const claimed = await claimOne(store)
      same(claimed.id, first.id)
      await settle(store, claimed, { to: 'done' })
      same((await claimOne(store)).id, second.id, 'the one behind it')
    },
  },
  {
    name: 'makes retries due at once that are later than any delay, and leaves earlier ones unchanged',
    run: async (store) => {
      const [far, near] = [newEntry(), newEntry({ storedAt: start + 1 })]
      for (const entry of [far, near]) await store.insert(entry)
      const [one, two] = await claim(store, 2, start + 1)
      if (one) await settle(store, one, { to: 'retry', due: start + day, ...failed })
      if (two) await settle(store, two, { to: 'retry', due: start + 500, ...failed })
      await store.align(alignment)
      const due = async (id: string) => (await store.find({ ids: [id], limit: 1 }))[0]?.due
      same([await due(far.id), await due(near.id)], [start, start + 500])
      same(
        (await claim(store, 10, start)).map(({ id }) => id),
        [far.id],
      )
      same((await claimOne(store, start + 500)).id, near.id)
    },
  },
  {
    name: 'frees the lanes held by dead entries only where asked',
    needs: 'order',
    run: async (store) => {
      const lane = 'freed'
      const [first, second] = [newEntry({ lane }), newEntry({ lane })]
      for (const entry of [first, second]) await store.insert(entry)
      await settle(store, await claimOne(store), { to: 'dead', hold: true, ...failed })
      await store.align({ ...alignment, free: false })
      same(await claim(store), [], 'still held')
      await store.align(alignment)
      const behind = await claimOne(store)
      same([behind.id, behind.gap], [second.id, true])
    },
  },
  {
    name: 'erases no entry that holds its lane, however old, until somebody redrives or dismisses it',
    needs: 'order',
    run: async (store) => {
      const lane = 'held for long'
      const [first, second] = [newEntry({ lane }), newEntry({ lane })]
      for (const entry of [first, second]) await store.insert(entry)
      await settle(store, await claimOne(store), { to: 'dead', hold: true, ...failed })
      const later = start + 1_000 * day
      const before = { doneBefore: later, deadBefore: later, keysBefore: start, limit: 100 }
      same(await store.purge(before), { erased: 0, deleted: 0 })
      same(await store.reopen({ ids: [first.id], from: ['dead'], now: later }), 1)
      await settle(store, await claimOne(store, later), { to: 'dead', hold: true, ...failed })
      same(await store.dismiss(first.id, start), true)
      same((await store.purge(before)).erased, 1)
      same((await claimOne(store, later)).id, second.id)
    },
  },
]
