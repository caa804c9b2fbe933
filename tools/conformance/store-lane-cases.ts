// Cases for every store: order within lanes, retries, dead entries that block, turns of tenants.
import { defined } from '../../src/foundation/defined.ts'
import type { HighWaterMark } from '../../src/inbox/work-store.ts'
import { same } from '../../src/testing/same.ts'
import { claim, claimOne, newEntry, type StoreCase, settle } from './store-cases.ts'

const start = Date.UTC(2026, 0, 1)
const failed = { reason: 'HANDLER_FAILED', failures: [] } as const

export const laneCases: readonly StoreCase[] = [
  {
    name: 'claims one entry at a time for each lane, in order of arrival',
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
    name: 'claims no more than asked, the longest waiting first',
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
    name: 'holds a lane until its retry is due, reports when, and lets other lanes pass',
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
    name: 'continues after a dead entry, and tells later entries about the gap',
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
    name: 'stops a lane at a dead entry that holds it until it is redriven or dismissed',
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
    name: 'holds no lane of one entry alone, which retention erases',
    run: async (store) => {
      for (const tenant of ['', '.tenant']) {
        const entry = newEntry()
        await store.insert({ ...entry, lane: `${entry.id}${tenant}` })
        await settle(store, await claimOne(store), { to: 'dead', hold: true, ...failed })
      }
      const past = { doneBefore: 0, deadBefore: start + 1, keysBefore: 0, limit: 10 }
      same((await store.purge(past)).erased, 2)
    },
  },
  {
    name: 'lets waiting tenants take turns, however long one has waited',
    needs: 'fairness',
    run: async (store) => {
      const lane = (tenant: string, at: number) => ({ lane: `fair ${at}.${tenant}` })
      for (let at = 0; at < 20; at++) await store.insert(newEntry(lane('many', at)))
      const few = [lane('few', 1), lane('few', 2)].map((given) => newEntry(given))
      const late = { storedAt: start + 1 }
      for (const entry of few) await store.insert({ ...entry, ...late })
      const alone = newEntry(late)
      await store.insert(alone)
      const first = (await claim(store, 6, start + 1)).map(({ id }) => id)
      same(
        [...few, alone].filter(({ id }) => !first.includes(id)),
        [],
      )
      same(first.length, 6)
      const next = newEntry({ ...lane('few', 3), ...late })
      await store.insert(next)
      const two = [...(await claim(store, 1, start + 1)), ...(await claim(store, 1, start + 1))]
      same(two.filter(({ id }) => id === next.id).length, 1, 'one by one')
    },
  },
  {
    name: 'passes over tenants whose entries wait for their retry',
    needs: 'fairness',
    run: async (store) => {
      const waiting = Array.from({ length: 40 }, (_, at) => newEntry({ lane: `w.a${at + 10}` }))
      for (const entry of waiting) await store.insert(entry)
      for (let left = waiting.length; left > 0; ) {
        const claimed = await claim(store, 10)
        left -= claimed.length
        for (const one of claimed) {
          await settle(store, one, { to: 'retry', due: start + 60_000, ...failed })
        }
      }
      const last = newEntry({ lane: 'w.z' })
      await store.insert(last)
      same((await claimOne(store)).id, last.id)
    },
  },
  {
    name: 'reports what was done last in a lane',
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
  {
    name: 'keeps the last decision of a lane until another is set',
    run: async (store) => {
      const lane = 'decided'
      for (let at = 0; at < 4; at++) await store.insert(newEntry({ lane }))
      const approved = { name: 'verification.approved', entryId: 'a', seq: 1, at: 50 } as const
      const end = async (highWaterMark?: HighWaterMark) => {
        await settle(store, await claimOne(store), defined({ to: 'done' as const, highWaterMark }))
      }
      await end({ at: 50, final: true, decision: approved })
      await end({ at: 60, final: false })
      const third = await claimOne(store)
      same(third.highWaterMark, { at: 60, final: true, decision: approved })
      const rejected = {
        name: 'verification.rejected',
        entryId: 'b',
        seq: 2,
        replaced: approved,
      } as const
      await settle(store, third, { to: 'done', highWaterMark: { final: true, decision: rejected } })
      same((await claimOne(store)).highWaterMark, { at: 60, final: true, decision: rejected })
    },
  },
  {
    name: 'says which handlers failed at the attempt before, through a crash and a release too',
    run: async (store) => {
      const failures = [{ handler: 'h', code: 'HANDLER_FAILED', error: 'Error' }]
      const failed = { reason: 'HANDLER_FAILED', failures } as const
      await store.insert(newEntry())
      const first = await claimOne(store)
      same(first.failed, undefined)
      await settle(store, first, { to: 'retry', due: start, ...failed })
      await settle(store, await claimOne(store), { to: 'released' })
      const crashed = { to: 'retry', due: start, reason: 'CRASHED', failures: [] } as const
      const again = await claimOne(store)
      same(again.failed, ['h'])
      await settle(store, again, crashed)
      const last = await claimOne(store)
      same(last.failed, ['h'])
      await settle(store, last, { to: 'dead', hold: false, ...failed })
      await store.reopen({ ids: [last.id], from: ['dead'], now: start })
      same((await claimOne(store)).failed, undefined)
    },
  },
  {
    name: 'says which handlers failed at an attempt that was released, and counts no attempt',
    run: async (store) => {
      const one = { handler: 'h', code: 'HANDLER_FAILED', error: 'Error' }
      const two = [one, { ...one, handler: 'i' }]
      await store.insert(newEntry())
      await settle(store, await claimOne(store), { to: 'released', failures: [one] })
      const [found] = await store.find({ limit: 10 })
      same([found?.state, found?.failures], ['stored', [one]])
      for (const failures of [[], two]) {
        const again = await claimOne(store)
        same([again.attempt, again.failed], [1, ['h']])
        await settle(store, again, { to: 'released', failures })
      }
      const last = await claimOne(store)
      same([last.attempt, last.failed], [1, ['h', 'i']])
      await settle(store, last, { to: 'done' })
      await store.insert(newEntry())
      await settle(store, await claimOne(store), { to: 'released', failures: two })
      await settle(store, await claimOne(store), { to: 'skipped', reason: 'NO_HANDLER' })
      const ended = await store.find({ limit: 10 })
      same(
        ended.map(({ failures }) => failures),
        [[], []],
      )
    },
  },
]
