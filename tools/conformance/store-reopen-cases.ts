// Cases for every store: entries that have ended, or wait, are opened again.
import { same } from '../../src/testing/same.ts'
import { claim, claimOne, newEntry, type StoreCase, settle } from './store-cases.ts'

const start = Date.UTC(2026, 0, 1)
const failures = [{ handler: 'h', code: 'HANDLER_FAILED', error: 'Error' }]
const failed = { reason: 'HANDLER_FAILED', failures } as const

export const reopeningCases: readonly StoreCase[] = [
  {
    name: 'reopens an ended entry in its place before younger ones',
    needs: 'order',
    run: async (store) => {
      const lane = 'reopened'
      const [first, second] = [newEntry({ lane }), newEntry({ lane })]
      await store.insert(first)
      const dying = await claimOne(store)
      await settle(store, dying, { to: 'dead', hold: false, handled: ['a'], ...failed })
      await store.insert(second)
      const reopening = { ids: [first.id, second.id], from: ['dead' as const], now: start }
      same(await store.reopen(reopening), 1)
      const again = await claimOne(store)
      same([again.id, again.attempt, again.handled], [first.id, 1, ['a']])
      await settle(store, again, { to: 'done' })
      same((await claimOne(store)).id, second.id)
      const replay = { ids: [first.id], from: ['done' as const], now: start, replay: true }
      same(await store.reopen(replay), 1)
      same(await claim(store), [], 'while a younger one is at work')
      const [found] = await store.find({ ids: [first.id], limit: 1 })
      same([found?.source, found?.handled, found?.generation], ['replay', [], 2])
    },
  },
  {
    name: 'reopens an entry that waits for its retry: due at once, in its place, attempts from 1',
    needs: 'order',
    run: async (store) => {
      const lane = 'waiting'
      const [first, second] = [newEntry({ lane }), newEntry({ lane })]
      for (const entry of [first, second]) await store.insert(entry)
      const failing = await claimOne(store)
      const due = start + 60_000
      await settle(store, failing, { to: 'retry', due, handled: ['a'], ...failed })
      same(await claim(store), [], 'before it is due')
      const reopening = { ids: [first.id, second.id], from: ['retry' as const], now: start }
      same(await store.reopen(reopening), 1)
      const again = await claimOne(store)
      same([again.id, again.attempt, again.handled], [first.id, 1, ['a']])
      same(await store.reopen(reopening), 0, 'while it is at work')
      await settle(store, again, { to: 'done' })
      same((await claimOne(store)).id, second.id)
    },
  },
  {
    name: 'reopens an entry while a younger one is at work: it is next',
    needs: 'order',
    run: async (store) => {
      const endings = [{ to: 'retry', due: start + 60_000, ...failed }, { to: 'released' }] as const
      for (const ending of endings) {
        const lane = `behind ${ending.to}`
        const [first, second] = [newEntry({ lane }), newEntry({ lane })]
        for (const entry of [first, second]) await store.insert(entry)
        await settle(store, await claimOne(store), { to: 'dead', hold: false, ...failed })
        const younger = await claimOne(store)
        same(await store.reopen({ ids: [first.id], from: ['dead'], now: start }), 1)
        same(await claim(store), [], 'while the younger one is at work')
        await settle(store, younger, ending)
        const next = await claimOne(store)
        same([next.id, next.attempt], [first.id, 1])
        await settle(store, next, { to: 'done' })
        const last = await claimOne(store, start + 60_000)
        same(last.id, second.id)
        await settle(store, last, { to: 'done' })
      }
    },
  },
  {
    name: 'opens what was set aside, a conflict or a dismissed entry, only where that is asked for',
    run: async (store) => {
      const entry = newEntry()
      const evidence = newEntry({ key: entry.key ?? '' })
      for (const one of [entry, evidence]) await store.insert(one)
      await settle(store, await claimOne(store), { to: 'dead', hold: false, ...failed })
      await store.dismiss(entry.id, start)
      const ids = [entry.id, evidence.id]
      const reopening = { ids, from: ['dead' as const, 'skipped' as const], now: start }
      same(await store.reopen(reopening), 0)
      same(await store.reopen({ ...reopening, setAside: true }), 2)
    },
  },
]
