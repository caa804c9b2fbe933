// Cases for every store: attempts end, operators search, and time passes.
import type { NewEntry } from '../../src/inbox/work-store.ts'
import { same } from '../../src/testing/same.ts'
import {
  claim,
  claimOne,
  lapsedOf,
  leaseOf,
  newEntry,
  type StoreCase,
  settle,
} from './store-cases.ts'

const start = Date.UTC(2026, 0, 1)
const failures = [{ handler: 'h', code: 'HANDLER_FAILED', error: 'Error' }]
const failed = { reason: 'HANDLER_FAILED', failures } as const

export const settlingCases: readonly StoreCase[] = [
  {
    name: 'rejects a settlement under a lost lease',
    run: async (store) => {
      await store.insert(newEntry())
      const first = await claimOne(store)
      await settle(store, first, { to: 'retry', due: start, ...failed })
      const second = await claimOne(store)
      const lease = leaseOf(first)
      same(await settle(store, first, { to: 'done' }), false)
      same(await store.checkpoint(lease, 'late'), false)
      same([await store.checkpoint(lease), await store.checkpoint(leaseOf(second))], [false, true])
      same(second.handled, [])
      same(await settle(store, second, { to: 'done' }), true)
      same(await settle(store, second, { to: 'retry', due: start, ...failed }), false, 'otherwise')
      same((await store.stats(start)).counts.done, 1)
    },
  },
  {
    name: 'accepts a repeated settlement and counts it once',
    run: async (store) => {
      const endings = [
        { to: 'done' },
        { to: 'retry', due: start + 1, ...failed },
        { to: 'dead', hold: false, ...failed },
        { to: 'skipped', reason: 'NO_HANDLER' },
        { to: 'released' },
      ] as const
      for (const _ of endings) await store.insert(newEntry())
      const claimed = await claim(store)
      for (const round of [1, 2]) {
        for (const [at, ending] of endings.entries()) {
          const one = claimed[at]
          same(one && (await settle(store, one, ending)), true, `${ending.to}, round ${round}`)
        }
      }
      const { counts } = await store.stats(start)
      same(counts, { ...none, stored: 1, retry: 1, done: 1, dead: 1, skipped: 1 })
      same((await claimOne(store)).attempt, 1, 'what was released')
      same((await claimOne(store, start + 1)).attempt, 2, 'what is tried again')
      for (const one of claimed.slice(3)) {
        same(await settle(store, one, { to: 'released' }), false, 'once it is claimed again')
      }
    },
  },
  {
    name: 'settles what a crash left for one of those that sweep',
    run: async (store) => {
      await store.insert(newEntry())
      const crashed = await claimOne(store)
      const settlement = { to: 'retry', due: start, reason: 'CRASHED', failures: [] } as const
      const taken = []
      for (let at = 0; at < 2; at++) {
        taken.push(await settle(store, crashed, { ...settlement, sweeps: true }))
      }
      same(taken, [true, false])
    },
  },
  {
    name: 'passes the checkpoints of handlers to the next attempt',
    run: async (store) => {
      await store.insert(newEntry())
      const first = await claimOne(store)
      same(await store.checkpoint(leaseOf(first), 'a'), true)
      same(await store.checkpoint(leaseOf(first)), true)
      await settle(store, first, { to: 'retry', due: start, handled: ['b', 'a'], ...failed })
      same([...(await claimOne(store)).handled].sort(), ['a', 'b'])
    },
  },
  {
    name: 'does not count a released attempt, but raises its fence',
    run: async (store) => {
      await store.insert(newEntry())
      const first = await claimOne(store)
      same(await settle(store, first, { to: 'released' }), true)
      same((await store.stats(start)).counts.stored, 1)
      const second = await claimOne(store)
      same([second.attempt, second.fence > first.fence], [1, true])
      same(await settle(store, first, { to: 'done' }), false)
    },
  },
  {
    name: 'makes a released entry due at once, whatever the clock of its owner',
    run: async (store) => {
      await store.insert(newEntry())
      await settle(store, await claimOne(store), { to: 'retry', due: start, ...failed })
      const ahead = start + 24 * 60 * 60 * 1000
      await settle(store, await claimOne(store), { to: 'released', at: ahead })
      await store.align({ now: start, latest: start + 1_000, free: false })
      same((await claimOne(store)).attempt, 2)
    },
  },
  {
    name: 'records why an entry ended',
    run: async (store) => {
      for (let at = 0; at < 3; at++) await store.insert(newEntry())
      const [one, two, three] = await claim(store)
      if (one) await settle(store, one, { to: 'done', handled: ['h'], at: start + 1 })
      if (two) await settle(store, two, { to: 'dead', hold: false, ...failed })
      if (three) await settle(store, three, { to: 'skipped', reason: 'NO_HANDLER' })
      const found = await store.find({ limit: 10 })
      same(
        found.map((entry) => [entry.state, entry.reason, entry.failures, entry.handled]),
        [
          ['skipped', 'NO_HANDLER', [], []],
          ['dead', 'HANDLER_FAILED', failures, []],
          ['done', undefined, [], ['h']],
        ],
      )
      same(found[2]?.settledAt, start + 1)
    },
  },
  {
    name: 'lists expired leases, unless they were renewed',
    run: async (store) => {
      await store.insert(newEntry())
      await store.insert(newEntry())
      const [one, two] = await claim(store)
      if (!one || !two) throw new Error('two were to be claimed')
      same(await store.lapsed(start + 59_999), [])
      await store.renew([leaseOf(one)], start + 120_000)
      same(await store.lapsed(start + 60_000), [lapsedOf(two)])
      same(await claim(store, 10, start + 60_000), [], 'it is settled, not claimed')
    },
  },
  {
    name: 'gives the next owner everything, including what the former one had leased',
    needs: 'restart',
    run: async (store, { again }) => {
      const [left, waiting] = [newEntry(), newEntry()]
      await store.insert(left)
      const claimed = await claimOne(store)
      await store.insert(waiting)
      const next = await again()
      same(await next.lapsed(start), [lapsedOf(claimed)])
      same(await next.insert({ ...waiting, id: 'other' }), { kind: 'duplicate', id: waiting.id })
      same((await claimOne(next)).body, waiting.body)
      const lease = leaseOf(claimed)
      const lapsed = { to: 'retry', due: start, reason: 'CRASHED', failures: [] } as const
      same(await next.settle({ ...lapsed, lease, at: start, handled: [] }), true)
      same((await claimOne(next)).attempt, 2)
    },
  },
  {
    name: 'commits a checkpoint with the transaction, only under its lease',
    needs: 'tx',
    run: async (store) => {
      await store.insert(newEntry())
      const first = await claimOne(store)
      const begin = async (handler: string) => {
        const tx = await store.transaction?.(leaseOf(first), handler)
        if (!tx) throw new Error('there is no transaction')
        const { exec, query } = tx.handle as { readonly [Name in 'exec' | 'query']?: Statement }
        await (exec ?? query)?.('select 1')
        return tx
      }
      same(await (await begin('a')).commit(), true)
      await (await begin('b')).rollback()
      await settle(store, first, { to: 'retry', due: start, ...failed })
      // It may as well be refused at once.
      const late = begin('c').then((tx) => tx.commit())
      same(await late.catch(() => false), false)
      same((await claimOne(store)).handled, ['a'])
    },
  },
]

/** How a handle of any SQL store runs a statement. */
type Statement = (sql: string) => unknown

export const adminCases: readonly StoreCase[] = [
  {
    name: 'finds by state, name, lane, time and text, newest first and page by page',
    run: async (store) => {
      const lane = 'looked-up'
      const first = newEntry({ lane, name: 'client.created', storedAt: start - 10 })
      const second = newEntry({ related: lane })
      const third = newEntry({ key: 'a-key' })
      for (const entry of [first, second, third]) await store.insert(entry)
      const ids = async (query: object) =>
        (await store.find({ limit: 10, ...query })).map(({ id }) => id)
      same(await ids({}), [third.id, second.id, first.id])
      same(await ids({ limit: 1, after: third.id }), [second.id])
      same(await ids({ limit: 2, oldestFirst: true }), [first.id, second.id])
      same(await ids({ oldestFirst: true, after: first.id }), [second.id, third.id])
      same(await ids({ after: 'none' }), [])
      same(await ids({ name: 'client.created' }), [first.id])
      same(await ids({ lane }), [second.id, first.id])
      same(await ids({ since: start }), [third.id, second.id])
      same(await ids({ ids: [first.id, third.id] }), [third.id, first.id])
      same(await ids({ states: ['done'] }), [])
      same(await ids({ text: { part: 'client.', keys: [] } }), [first.id])
      same(await ids({ text: { part: 'nothing', keys: ['a-key', lane] } }), [
        third.id,
        second.id,
        first.id,
      ])
    },
  },
  {
    name: 'counts by state and reports the lag',
    run: async (store) => {
      same(await store.stats(start), { counts: none })
      await store.insert(newEntry({ storedAt: start - 100 }))
      await store.insert(newEntry({ storedAt: start - 50 }))
      const counts = { ...none, stored: 2 }
      const newest = start - 50
      same(await store.stats(start), { counts, oldest: start - 100, due: start - 100, newest })
      const first = await claimOne(store)
      same(await store.stats(start), {
        counts: { ...none, stored: 1, leased: 1 },
        oldest: start - 100,
        due: start - 50,
        newest,
      })
      await settle(store, first, { to: 'retry', due: start + 10, ...failed })
      const second = await claimOne(store)
      await settle(store, second, { to: 'done' })
      same(await store.stats(start), {
        counts: { ...none, retry: 1, done: 1 },
        oldest: start - 100,
        newest,
      })
    },
  },
  {
    name: 'measures each handler from occurrence to done, without replays and what is erased',
    run: async (store) => {
      const done = async (given: Partial<NewEntry>, ...handled: string[]) => {
        const entry = newEntry({ storedAt: start - 1, ...given })
        await store.insert(entry)
        await settle(store, await claimOne(store), { to: 'done', handled })
        return entry
      }
      for (const took of [10, 20, 30]) await done({ occurredAt: start - took }, 'crm', 'mail')
      await done({ occurredAt: start - 4_000 }, 'crm')
      await done({ storedAt: start - 70 }, 'unknown')
      const replayed = await done({ occurredAt: start - 9_000 }, 'mail')
      const replay = { ids: [replayed.id], from: ['done' as const], now: start, replay: true }
      await store.reopen(replay)
      await settle(store, await claimOne(store), { to: 'done', handled: ['mail'] })
      await store.forget((await done({ lane: 'erased' }, 'crm')).lane, start)
      const asked = { since: start, target: 20, limit: 100 }
      const mail = { handler: 'mail', entries: 3, within: 2, p50: 20, p95: 30, p99: 30 }
      same((await store.stats(start, asked)).latency, [
        { ...mail, handler: 'crm', entries: 4, p95: 4_000, p99: 4_000, longest: 4_000 },
        { ...mail, longest: 30 },
        { handler: 'unknown', entries: 1, within: 0, p50: 70, p95: 70, p99: 70, longest: 70 },
      ])
      same((await store.stats(start, { ...asked, since: start + 1 })).latency, [])
      same((await store.stats(start, { ...asked, limit: 0 })).latency, [])
    },
  },
]

const none = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }
