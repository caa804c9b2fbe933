// Cases for every store: keeping and finding entries, and the ends of attempts.
import type { NewEntry } from '../../src/inbox/work-store.ts'
import {
  claim,
  claimNew,
  claimOne,
  crashed,
  day,
  failed,
  failures,
  idsOf,
  kept,
  lapsedOf,
  leaseOf,
  newEntry,
  none,
  reopen,
  type StoreCases,
  same,
  settle,
  settleNext,
  start,
} from './store-cases.ts'

export const keepingCases: StoreCases = {
  'returns exactly the bytes that were stored': async (store) => {
    const entry = newEntry({ occurredAt: start - 5, storedAt: start })
    same(await store.insert(entry), { kind: 'stored', id: entry.id })
    const { isLast: _, ...claimed } = await claimOne(store)
    const { id, name, source, occurredAt, storedAt, metadata, body } = entry
    const given = { id, name, source, occurredAt, storedAt, metadata, body }
    const { owner, seq } = claimed
    same(claimed, { ...given, fence: 1, owner, attempt: 1, seq, handled: [], gap: false })
  },
  'gives copies of the bytes: a handler that writes into them changes no entry': async (store) => {
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
  'finds what is done in the order of settlement, behind a place': async (store) => {
    const entries = await kept(store, { lane: 'a' }, { lane: 'b.t' }, { lane: 'bc' }, { lane: 'd' })
    const [a, b, c] = entries
    const claimed = await claim(store)
    const [one, two, three] = entries.map(({ id }) => claimed.find((each) => each.id === id))
    if (!one || !two || !three) throw new Error('an entry was not claimed')
    await settle(store, three, { to: 'done', at: start + 1, name: 'verification.rejected' })
    await settle(store, one, { to: 'done', at: start + 2 })
    await settle(store, two, { to: 'done', at: start + 2 })
    const found = async (after = { settledAt: 0, seq: 0 }, lanes?: string[], limit = 9) =>
      store.findDone({ after, limit, ...(lanes && { lanes }) })
    const { id, lane, name } = b
    const last = { id, lane, name, seq: two.seq, settledAt: start + 2 }
    const all = await found()
    same(idsOf(all), idsOf([c, a, b]))
    same(all[2], last)
    same(all[0]?.name, 'verification.rejected', 'the name that handlers got')
    same(idsOf(await found(undefined, undefined, 1)), [c.id], 'one')
    same(idsOf(await found(all[1])), [b.id], 'behind a place of the same time')
    same(idsOf(await found({ settledAt: start + 1, seq: three.seq })), idsOf([a, b]))
    same(idsOf(await found(undefined, ['b', 'd'])), [b.id], 'of lanes, with any tenant')
    await store.forget('b', start)
    await reopen(store, 'done', [a])
    same(idsOf(await found()), [c.id], 'after a forget and a replay')
  },
  'stores bytes without a key or a name': async (store) => {
    const { key: _, name: __, receivedName: ___, ...bare } = newEntry()
    same((await store.insert(bare)).kind, 'stored')
    same((await store.insert({ ...bare, id: `${bare.id}-2`, lane: 'other' })).kind, 'stored')
    same((await claim(store)).length, 2)
  },
  'detects a duplicate by its key, whatever the state of the first': async (store) => {
    const entry = newEntry()
    const again = () => store.insert({ ...newEntry(), key: entry.key ?? '', digest: entry.digest })
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
  'stores one of many concurrent entries with the same key': async (store) => {
    const { key, digest } = newEntry()
    const copies = Array.from({ length: 64 }, () => newEntry({ key: key ?? '', digest }))
    const kinds = await Promise.all(copies.map((copy) => store.insert(copy)))
    same(kinds.filter(({ kind }) => kind === 'stored').length, 1)
    same(new Set(idsOf(kinds)).size, 1)
  },
  'inserts several entries in their order, and tells duplicates among them': async (store) => {
    const [one, two, three] = [newEntry(), newEntry(), newEntry()]
    const again = newEntry({ key: one.key ?? '', digest: one.digest })
    same(await store.insertAll([one, again, two, three]), [
      { kind: 'stored', id: one.id },
      { kind: 'duplicate', id: one.id },
      { kind: 'stored', id: two.id },
      { kind: 'stored', id: three.id },
    ])
    const bySeq = (await claim(store)).toSorted((a, b) => a.seq - b.seq)
    same(idsOf(bySeq), [one.id, two.id, three.id])
  },
  'keeps other bytes under a known key as evidence, up to 8 times': async (store) => {
    const [entry] = await kept(store, {})
    const key = entry.key ?? ''
    const other = newEntry({ key })
    const conflict = { kind: 'conflict', id: entry.id }
    same(await store.insert(other), conflict)
    same(await store.insert(newEntry({ key, digest: other.digest })), conflict, 'the same again')
    same(idsOf(await claim(store)), [entry.id])
    const [evidence, ...more] = await store.find({ states: ['skipped'], limit: 10, withBody: true })
    same([evidence?.id, evidence?.body, more], [other.id, other.body, []])
    same([evidence?.reason, evidence?.conflictOf], ['CONFLICT', entry.id])
    for (let at = 0; at < 12; at++) same(await store.insert(newEntry({ key })), conflict)
    same((await store.find({ states: ['skipped'], limit: 20 })).length, 8)
  },
  'detects the same occurrence under another name, and only under another': async (store) => {
    const aliases = (name: string) => [{ key: 'occurrence', name }]
    const first = newEntry({ aliases: aliases('old') })
    const second = newEntry({ aliases: aliases('new') })
    await store.insert(first)
    same(await store.insert(second), { kind: 'duplicate', id: first.id })
    const again = { ...second, id: `${second.id}-again` }
    same(await store.insert(again), { kind: 'duplicate', id: first.id })
    same((await store.insert(newEntry({ aliases: aliases('old') }))).kind, 'stored')
  },
  'keeps the values that are set beside the entries': async (store) => {
    same(await store.recall('salt', Uint8Array.of(1)), Uint8Array.of(1))
    same(await store.recall('salt', Uint8Array.of(2)), Uint8Array.of(1))
    await store.remember('salt', Uint8Array.of(3))
    same(await store.recall('salt', Uint8Array.of(4)), Uint8Array.of(3))
  },
  'rejects a settlement under a lost lease': async (store) => {
    const first = await claimNew(store)
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
  'accepts a repeated settlement and counts it once': async (store) => {
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
  'settles an entry that a crash left for one of several sweeps': async (store) => {
    const left = await claimNew(store)
    const sweep = () => settle(store, left, { ...crashed, sweeps: true })
    same([await sweep(), await sweep()], [true, false])
  },
  'passes the checkpoints of handlers to the next attempt': async (store) => {
    const first = await claimNew(store)
    same(await store.checkpoint(leaseOf(first), 'a'), true)
    same(await store.checkpoint(leaseOf(first)), true)
    await settle(store, first, { to: 'retry', due: start, handled: ['b', 'a'], ...failed })
    same([...(await claimOne(store)).handled].sort(), ['a', 'b'])
  },
  'makes a released entry due at once, whatever the clock of its owner': async (store) => {
    await settle(store, await claimNew(store), { to: 'retry', due: start, ...failed })
    await settleNext(store, { to: 'released', at: start + day })
    await store.align({ now: start, latest: start + 1_000, free: false })
    same((await claimOne(store)).attempt, 2)
  },
  'records why an entry ended': async (store) => {
    await kept(store, {}, {}, {})
    await settleNext(store, { to: 'done', handled: ['h'], at: start + 1 })
    await settleNext(store, { to: 'dead', hold: false, ...failed })
    await settleNext(store, { to: 'skipped', reason: 'NO_HANDLER' })
    const found = await store.find({ limit: 10 })
    const ends = found.map(({ state, reason, failures, handled }) => [
      state,
      reason,
      failures,
      handled,
    ])
    same(ends[0], ['skipped', 'NO_HANDLER', [], []])
    same(ends[1], ['dead', 'HANDLER_FAILED', failures, []])
    same([...(ends[2] ?? []), found[2]?.settledAt], ['done', undefined, [], ['h'], start + 1])
  },
  'lists expired leases, unless they were renewed': async (store) => {
    await kept(store, {}, {})
    const [one, two] = await claim(store)
    if (!one || !two) throw new Error('two were to be claimed')
    same(await store.lapsed(start + 59_999), [])
    await store.renew([leaseOf(one)], start + 120_000)
    same(await store.lapsed(start + 60_000), [lapsedOf(two)])
    same(await claim(store, 10, start + 60_000), [], 'it is settled, not claimed')
  },
  'finds by state, name, lane, time and text, newest first and page by page': async (store) => {
    const lane = 'looked-up'
    const early = { lane, name: 'client.created', storedAt: start - 10 }
    const [first, second, third] = await kept(store, early, { related: lane }, { key: 'a-key' })
    const ids = async (query: object) => idsOf(await store.find({ limit: 10, ...query }))
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
    const keyed = await ids({ text: { part: 'nothing', keys: ['a-key', lane] } })
    same(keyed, [third.id, second.id, first.id])
  },
  'counts by state and reports the lag': async (store) => {
    same(await store.stats(start), { counts: none })
    const [oldest, newest] = [start - 100, start - 50]
    await kept(store, { storedAt: oldest }, { storedAt: newest })
    const lag = { oldest, newest }
    same(await store.stats(start), { counts: { ...none, stored: 2 }, due: oldest, ...lag })
    const first = await claimOne(store)
    const counts = { ...none, stored: 1, leased: 1 }
    same(await store.stats(start), { counts, due: newest, ...lag })
    await settle(store, first, { to: 'retry', due: start + 10, ...failed })
    await settleNext(store, { to: 'done' })
    same(await store.stats(start), { counts: { ...none, retry: 1, done: 1 }, ...lag })
  },
  'measures each handler from the occurrence of its events to done': async (store) => {
    const done = async (given: Partial<NewEntry>, ...handled: string[]) => {
      const [entry] = await kept(store, { storedAt: start - 1, ...given })
      await settleNext(store, { to: 'done', handled })
      return entry
    }
    for (const took of [10, 20, 30]) await done({ occurredAt: start - took }, 'crm', 'mail')
    await done({ occurredAt: start - 4_000 }, 'crm')
    await done({ storedAt: start - 70 }, 'unknown')
    const replayed = await done({ occurredAt: start - 9_000 }, 'mail')
    await reopen(store, 'done', [replayed])
    await settleNext(store, { to: 'done', handled: ['mail'] })
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
}

export const keepingRestartCases: StoreCases = {
  'gives the next owner every entry, leased ones too': async (store, { again }) => {
    const claimed = await claimNew(store)
    const [waiting] = await kept(store, {})
    const next = await again()
    same(await next.lapsed(start), [lapsedOf(claimed)])
    same(await next.insert({ ...waiting, id: 'other' }), { kind: 'duplicate', id: waiting.id })
    same((await claimOne(next)).body, waiting.body)
    same(await settle(next, claimed, crashed), true)
    same((await claimOne(next)).attempt, 2)
  },
}

export const keepingTxCases: StoreCases = {
  'commits a checkpoint with the transaction, only under its lease': async (store) => {
    const first = await claimNew(store)
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
}

/** How a handle of any SQL store runs a statement. */
type Statement = (sql: string) => unknown
