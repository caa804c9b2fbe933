// Cases for every store: forgetting a person, a tenant's person, and entries past their retention.
import type { NewEntry } from '../../src/inbox/work-store.ts'
import {
  claim,
  claimNew,
  claimOne,
  day,
  done,
  failed,
  failures,
  idsOf,
  kept,
  newEntry,
  none,
  reopen,
  type StoreCases,
  same,
  settle,
  settleNext,
  start,
} from './store-cases.ts'

function unread(): NewEntry {
  const { name: _, ...entry } = newEntry()
  return entry
}

export const erasingCases: StoreCases = {
  'forgets an entity: erases payloads, skips open entries, revokes leases': async (store) => {
    const lane = 'person'
    const related = { related: lane, storedAt: start + 1 }
    const [leased, , , other] = await kept(store, { lane }, { lane }, related, {
      storedAt: start + 2,
    })
    const held = await claimOne(store)
    same(await store.forget(lane, start), 3)
    same(await settle(store, held, { to: 'done' }), false)
    same(idsOf(await claim(store, 10, start + 5)), [other.id])
    const found = await store.find({ lane, limit: 10, withBody: true })
    for (const { state, reason, metadata, body } of found) {
      same([state, reason, metadata, body], ['skipped', 'FORGOTTEN', undefined, undefined])
    }
    same(found.length, 3)
    same(await reopen(store, 'skipped', [leased]), 0)
  },
  'finds and forgets entries of one tenant, or of all': async (store) => {
    const lane = 'whose'
    const entries = [
      newEntry({ lane, key: 'k' }),
      newEntry({ lane: `${lane}.one`, key: 'k.one' }),
      newEntry({ related: `${lane}.two`, lane: 'x.two', key: 'k.two' }),
      newEntry({ lane: `${lane}r` }),
    ]
    for (const entry of entries) same((await store.insert(entry)).kind, 'stored')
    const [none, one, two] = idsOf(entries)
    const ids = async (query: object) => idsOf(await store.find({ limit: 10, ...query }))
    same(await ids({ lane }), [two, one, none])
    same(await ids({ lane: `${lane}.one` }), [one])
    same(await ids({ tenant: 'two' }), [two])
    same(await ids({ tenant: '', lane }), [none])
    same(await ids({ text: { part: 'nothing', keys: ['k'] } }), [two, one, none])
    same(await store.forget(lane, start, true), 1)
    same(await store.forget(lane, start, true), 0)
    same(await store.forget(`${lane}.two`, start), 1)
    same(await store.forget(lane, start), 1)
    same(await store.forget(lane, start), 0)
  },
  'forgets a long lane whose last entry names the entity': async (store) => {
    for (let at = 0; at < 520; at++) await store.insert(newEntry({ lane: 'lane' }))
    await kept(store, { lane: 'lane', related: 'client' })
    const found = await store.find({ limit: 1_000, lane: 'client' })
    same(found.length > 500, true, 'the newest are found by the entity')
    same(await store.forget('client', start), 521)
  },
  'forgets a whole lane whose entries name two entities': async (store) => {
    const lane = 'related-twice'
    await kept(store, { lane, related: 'first' }, { lane }, { lane, related: 'second' }, { lane })
    await kept(store, { related: 'second' })
    same(await store.forget('first', start), 4)
    same(await store.forget('second', start), 1)
  },
  'relates a lane to entities that only a duplicate names': async (store) => {
    const lane = 'related-by-alias'
    const alias = (name: string) => ({ lane, aliases: [{ key: 'alias', name }] })
    const [first] = await kept(store, alias('old'))
    const second = newEntry({ ...alias('new'), related: 'client' })
    same(await store.insert(second), { kind: 'duplicate', id: first.id })
    same(await store.forget('client', start), 1)
  },
  'keeps the relations of a lane for as long as it has entries': async (store) => {
    const lane = 'long-related'
    const at = (days: number) => ({ lane, storedAt: start + days * day })
    const purge = (days: number) => {
      const before = start + days * day
      return store.purge({ doneBefore: 0, deadBefore: 0, keysBefore: before, limit: 100 })
    }
    await kept(store, { ...at(0), related: 'client' }, at(20))
    await purge(10)
    const [late] = await kept(store, at(40))
    const found = await store.find({ lane: 'client', limit: 1 })
    same(idsOf(found), [late.id])
  },
  'erases the errors of handlers with the payload': async (store) => {
    await kept(store, { lane: 'retried' }, { lane: 'dead' }, {})
    const [retried, dead, late] = await claim(store)
    if (retried) await settle(store, retried, { to: 'retry', due: start, ...failed })
    if (dead) await settle(store, dead, { to: 'dead', hold: false, ...failed })
    if (late) await settle(store, late, { to: 'dead', hold: false, ...failed })
    for (const lane of ['retried', 'dead']) same(await store.forget(lane, start), 1)
    const said = async () => (await store.find({ limit: 10 })).map(({ failures }) => failures)
    same(await said(), [failures, [], []])
    await store.purge({ doneBefore: 0, deadBefore: start + day, keysBefore: 0, limit: 10 })
    same(await said(), [[], [], []])
  },
  'forgets the evidence of conflicts, whatever its lane': async (store) => {
    const entry = await done(store, { lane: 'person' })
    const evidence = [unread(), unread()].map((one) => ({ ...one, key: entry.key ?? '' }))
    for (const one of evidence) same((await store.insert(one)).kind, 'conflict')
    const after = Date.now() + day
    await store.purge({ doneBefore: after, deadBefore: 0, keysBefore: 0, limit: 10 })
    same(await store.forget('person', start), 2)
    const left = (await store.find({ limit: 10 })).map(({ metadata }) => metadata)
    same(left, [undefined, undefined, undefined])
    same(await store.forget('person', start), 0)
  },
  'forgets no event of another person under the same id': async (store) => {
    const [entry, another] = [newEntry({ lane: 'person' }), newEntry({ lane: 'another' })]
    await store.insert(entry)
    same((await store.insert({ ...another, key: entry.key ?? '' })).kind, 'conflict')
    same(await store.forget('person', start), 1)
    same(await store.forget('another', start), 1)
  },
  'keeps an erased entry as long as there is evidence of its conflicts': async (store) => {
    const entry = await done(store, { lane: 'person' })
    same((await store.insert({ ...unread(), key: entry.key ?? '' })).kind, 'conflict')
    const after = Date.now() + day
    const past = { doneBefore: after, deadBefore: 0, keysBefore: after, limit: 10 }
    for (let page = 0; page < 2; page++) await store.purge(past)
    same(await store.forget('person', start), 1)
    for (let page = 0; page < 2; page++) await store.purge(past)
    same(await store.find({ limit: 10 }), [])
  },
  'erases digests with the bytes': async (store) => {
    const entry = newEntry()
    const known = { kind: 'duplicate', id: entry.id }
    await store.insert(entry)
    await store.forget(entry.lane, start)
    same(await store.insert({ ...newEntry(), key: entry.key ?? '' }), known)
  },
  'erases payloads and keys after their retention': async (store) => {
    const ended = await done(store, {})
    await store.insert(newEntry())
    await settleNext(store, { to: 'dead', hold: false, ...failed })
    await store.insert(newEntry())
    const purge = (days: number) => {
      const now = start + days * day
      const [doneBefore, deadBefore] = [now - 7 * day, now - 90 * day]
      return store.purge({ doneBefore, deadBefore, keysBefore: now - 30 * day, limit: 100 })
    }
    same(await purge(6), { erased: 0, deleted: 0 })
    same(await purge(8), { erased: 1, deleted: 0 })
    same((await store.insert({ ...ended, id: 'again' })).kind, 'duplicate')
    same((await purge(31)).deleted, 4, 'three keys and the entry that was done')
    same(await store.insert({ ...ended, id: 'another' }), { kind: 'stored', id: 'another' })
    same((await purge(91)).erased, 1)
    same((await store.stats(start)).counts, { ...none, stored: 2 })
  },
}

export const erasingOrderCases: StoreCases = {
  'starts nothing in a lane while a forgotten entry is still being handled': async (store) => {
    const lane = 'at-work'
    const first = await claimNew(store, { lane })
    same(await store.forget(lane, start), 1)
    same(await store.forget(lane, start), 0)
    await store.insert(newEntry({ lane }))
    same(await claim(store), [])
    same(await store.checkpoint(first, 'h'), false)
    same(await settle(store, first, { to: 'retry', due: start, ...failed }), false)
    const second = await claimOne(store)
    same(await store.forget(lane, start), 1)
    const lapsed = await store.lapsed(Number.MAX_SAFE_INTEGER)
    same(idsOf(lapsed), [second.id])
    same(await settle(store, second, { to: 'dead', hold: true, ...failed }), false)
    same((await store.stats(start)).counts, { ...none, skipped: 2 })
    await kept(store, { lane })
    same((await claim(store)).length, 1)
  },
  'knows the last event of a lane while an entry may run again': async (store) => {
    const lane = 'remembered'
    const [failing, _later] = await kept(store, { lane }, { lane })
    await settleNext(store, { to: 'dead', hold: false, ...failed })
    const highWaterMark = { at: 50, final: true }
    await settleNext(store, { to: 'done', highWaterMark })
    const purge = async (days: number, dead: number) => {
      const [keysBefore, deadBefore] = [start + (days - 30) * day, start + (days - dead) * day]
      for (let page = 0; page < 2; page++) {
        await store.purge({ doneBefore: keysBefore, deadBefore, keysBefore, limit: 100 })
      }
    }
    await purge(35, 90)
    same(await reopen(store, 'dead', [failing]), 1)
    const again = await claimOne(store)
    same(again.highWaterMark, highWaterMark)
    await settle(store, again, { to: 'dead', hold: false, ...failed })
    await purge(100, 90)
    await store.insert(newEntry({ lane }))
    same((await claimOne(store)).highWaterMark, undefined)
  },
}
