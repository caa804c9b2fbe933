// Cases for every store: order within lanes, retries, dead entries that block, turns of tenants,
// entries that are opened again or aligned with the clock, and entries that get their lane after
// their arrival because they could not be read before.
import type { InboxStore } from '../../src/inbox/store.ts'
import type { Claimed, HighWaterMark, NewEntry } from '../../src/inbox/work-store.ts'
import {
  claim,
  claimNew,
  claimOne,
  crashed,
  day,
  done,
  failed,
  failures,
  idsOf,
  kept,
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

export const lanesOrderCases: StoreCases = {
  'claims one entry at a time for each lane, in order of arrival': async (store) => {
    const lane = 'one'
    const [first, second, other] = await kept(store, { lane }, { lane }, {})
    const [one, two, ...rest] = await claim(store)
    same([one?.id, one?.isLast, two?.id, rest], [first.id, undefined, other.id, []])
    same(await claim(store), [])
    if (one) await settle(store, one, { to: 'done' })
    same((await claimOne(store)).id, second.id)
  },
  'keeps the order of entries that came in one commit': async (store) => {
    const entries = Array.from({ length: 200 }, () => newEntry({ lane: 'hot' }))
    await Promise.all(entries.map((entry) => store.insert(entry)))
    const order: string[] = []
    for (let left = entries.length; left > 0; left--) {
      const claimed = await claimOne(store)
      order.push(claimed.id)
      await settle(store, claimed, { to: 'done' })
    }
    same(order, idsOf(entries))
  },
  'continues after a dead entry, and marks the gap on later entries': async (store) => {
    const lane = 'gapped'
    const [_first, second] = await kept(store, { lane }, { lane })
    await settleNext(store, { to: 'dead', hold: false, ...failed })
    const behind = await claimOne(store)
    same([behind.id, behind.gap], [second.id, true])
  },
  'stops a lane at a dead entry that holds it until it is redriven or dismissed': async (store) => {
    const lane = 'held'
    const [first, second] = await kept(store, { lane }, { lane }, { lane })
    await settleNext(store, { to: 'dead', hold: true, ...failed })
    same(await claim(store), [], 'while it is dead')
    await store.insert(newEntry({ lane }))
    same(await claim(store), [], 'when another arrives')
    same(await reopen(store, 'dead', [first]), 1)
    const again = await claimOne(store)
    same([again.id, again.attempt], [first.id, 1])
    await settle(store, again, { to: 'dead', hold: true, ...failed })
    same(await store.dismiss(first.id, start), true)
    same(await store.dismiss('none', start), false)
    same((await claimOne(store)).id, second.id)
  },
  'reopens an ended entry in its place before younger ones': async (store) => {
    const lane = 'reopened'
    const first = await claimNew(store, { lane })
    await settle(store, first, { to: 'dead', hold: false, handled: ['a'], ...failed })
    const [second] = await kept(store, { lane })
    same(await reopen(store, 'dead', [first, second]), 1)
    const again = await claimOne(store)
    same([again.id, again.attempt, again.handled], [first.id, 1, ['a']])
    await settle(store, again, { to: 'done' })
    same((await claimOne(store)).id, second.id)
    same(await reopen(store, 'done', [first]), 1)
    same(await claim(store), [], 'while a younger one is at work')
    const [found] = await store.find({ ids: [first.id], limit: 1 })
    same([found?.source, found?.handled, found?.generation], ['replay', [], 2])
  },
  'reopens an entry that waits for its retry in its place': async (store) => {
    const lane = 'waiting'
    const [first, second] = await kept(store, { lane }, { lane })
    await settleNext(store, { to: 'retry', due: start + 60_000, handled: ['a'], ...failed })
    same(await claim(store), [], 'before it is due')
    same(await reopen(store, 'retry', [first, second]), 1)
    const again = await claimOne(store)
    same([again.id, again.attempt, again.handled], [first.id, 1, ['a']])
    same(await reopen(store, 'retry', [first, second]), 0, 'while it is at work')
    await settle(store, again, { to: 'done' })
    same((await claimOne(store)).id, second.id)
  },
  'reopens an entry while a younger one is at work: it is next': async (store) => {
    const endings = [{ to: 'retry', due: start + 60_000, ...failed }, { to: 'released' }] as const
    for (const ending of endings) {
      const lane = `behind ${ending.to}`
      const [first, second] = await kept(store, { lane }, { lane })
      await settleNext(store, { to: 'dead', hold: false, ...failed })
      const younger = await claimOne(store)
      same(await reopen(store, 'dead', [first]), 1)
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
  'does not delay stored entries because an earlier clock was ahead': async (store) => {
    const given = { lane: 'ahead', storedAt: start + day }
    const [first, second] = await kept(store, given, given)
    same(await claim(store), [], 'before the lanes are in line')
    await store.align(alignment)
    same((await store.stats(start)).due, start)
    const claimed = await claimOne(store)
    same(claimed.id, first.id)
    await settle(store, claimed, { to: 'done' })
    same((await claimOne(store)).id, second.id, 'the one behind it')
  },
  'frees the lanes held by dead entries only where asked': async (store) => {
    const lane = 'freed'
    const [_first, second] = await kept(store, { lane }, { lane })
    await settleNext(store, { to: 'dead', hold: true, ...failed })
    await store.align({ ...alignment, free: false })
    same(await claim(store), [], 'still held')
    await store.align(alignment)
    const behind = await claimOne(store)
    same([behind.id, behind.gap], [second.id, true])
  },
  'erases no entry that holds its lane, however old': async (store) => {
    const lane = 'held for long'
    const [first, second] = await kept(store, { lane }, { lane })
    await settleNext(store, { to: 'dead', hold: true, ...failed })
    const later = start + 1_000 * day
    const before = { doneBefore: later, deadBefore: later, keysBefore: start, limit: 100 }
    same(await store.purge(before), { erased: 0, deleted: 0 })
    same(await reopen(store, 'dead', [first], later), 1)
    await settle(store, await claimOne(store, later), { to: 'dead', hold: true, ...failed })
    same(await store.dismiss(first.id, start), true)
    same((await store.purge(before)).erased, 1)
    same((await claimOne(store, later)).id, second.id)
  },
}

export const lanesCases: StoreCases = {
  'claims no more than asked, the longest waiting first': async (store) => {
    const [young, old] = await kept(store, { storedAt: start + 2 }, { storedAt: start + 1 })
    same(idsOf(await claim(store, 1, start + 5)), [old.id])
    same(idsOf(await claim(store, 5, start + 5)), [young.id])
  },
  'holds a lane until its retry is due, reports when, and lets other lanes pass': async (store) => {
    const [first] = await kept(store, { lane: 'retried' }, { lane: 'retried' })
    await settleNext(store, { to: 'retry', due: start + 500, ...failed })
    const [other] = await kept(store, {})
    const now = start + 499
    const { entries, next } = await store.claim({ now, limit: 10, until: now + 1 })
    same([idsOf(entries), next], [[other.id], start + 500])
    const retried = await claimOne(store, start + 500)
    same([retried.id, retried.attempt, retried.fence], [first.id, 2, 2])
  },
  'does not hold the lane of an entry that is alone in it': async (store) => {
    for (const tenant of ['', '.tenant']) {
      const entry = newEntry()
      await store.insert({ ...entry, lane: `${entry.id}${tenant}` })
      await settleNext(store, { to: 'dead', hold: true, ...failed })
    }
    const past = { doneBefore: 0, deadBefore: start + 1, keysBefore: 0, limit: 10 }
    same((await store.purge(past)).erased, 2)
  },
  'reports the last event and the last decision of a lane': async (store) => {
    const lane = 'decided'
    for (let at = 0; at < 4; at++) await store.insert(newEntry({ lane }))
    const next = async (highWaterMark: HighWaterMark) => {
      const claimed = await claimOne(store)
      await settle(store, claimed, { to: 'done', highWaterMark })
      return claimed.highWaterMark
    }
    const approved = { name: 'verification.approved', entryId: 'a', seq: 1, at: 50 } as const
    same(await next({ at: 50, final: true, decision: approved }), undefined)
    await next({ at: 60, final: false })
    const rejected = { ...approved, name: 'verification.rejected', replaced: approved } as const
    const before = await next({ at: 40, final: true, decision: rejected })
    same(before, { at: 60, final: true, decision: approved })
    same((await claimOne(store)).highWaterMark, { at: 60, final: true, decision: rejected })
  },
  'names the handlers that failed at the last attempt': async (store) => {
    const first = await claimNew(store)
    same(first.failed, undefined)
    await settle(store, first, { to: 'retry', due: start, ...failed })
    await settleNext(store, { to: 'released' })
    const again = await claimOne(store)
    same(again.failed, ['h'])
    await settle(store, again, crashed)
    const last = await claimOne(store)
    same(last.failed, ['h'])
    await settle(store, last, { to: 'dead', hold: false, ...failed })
    await reopen(store, 'dead', [last])
    same((await claimOne(store)).failed, undefined)
  },
  'names the handlers that failed before a release': async (store) => {
    const two = [...failures, { handler: 'i', code: 'HANDLER_FAILED', error: 'Error' }]
    await store.insert(newEntry())
    await settleNext(store, { to: 'released', failures })
    const [found] = await store.find({ limit: 10 })
    same([found?.state, found?.failures], ['stored', failures])
    for (const failures of [[], two]) {
      const again = await claimOne(store)
      same([again.attempt, again.failed], [1, ['h']])
      await settle(store, again, { to: 'released', failures })
    }
    const last = await claimOne(store)
    same([last.attempt, last.failed], [1, ['h', 'i']])
    await settle(store, last, { to: 'done' })
    await settle(store, await claimNew(store), { to: 'released', failures: two })
    await settleNext(store, { to: 'skipped', reason: 'NO_HANDLER' })
    const ended = (await store.find({ limit: 10 })).map(({ failures }) => failures)
    same(ended, [[], []])
  },
  'opens conflicts and dismissed entries only if asked to': async (store) => {
    const entry = newEntry()
    const evidence = newEntry({ key: entry.key ?? '' })
    for (const one of [entry, evidence]) await store.insert(one)
    await settleNext(store, { to: 'dead', hold: false, ...failed })
    await store.dismiss(entry.id, start)
    const ids = [entry.id, evidence.id]
    const reopening = { ids, from: ['dead' as const, 'skipped' as const], now: start }
    same(await store.reopen(reopening), 0)
    same(await store.reopen({ ...reopening, setAside: true }), 2)
  },
  'makes retries due that are later than any delay': async (store) => {
    const [far, near] = await kept(store, {}, { storedAt: start + 1 })
    const [one, two] = await claim(store, 2, start + 1)
    if (one) await settle(store, one, { to: 'retry', due: start + day, ...failed })
    if (two) await settle(store, two, { to: 'retry', due: start + 500, ...failed })
    await store.align(alignment)
    const due = async (id: string) => (await store.find({ ids: [id], limit: 1 }))[0]?.due
    same([await due(far.id), await due(near.id)], [start, start + 500])
    same(idsOf(await claim(store, 10, start)), [far.id])
    same((await claimOne(store, start + 500)).id, near.id)
  },
}

export const lanesFairnessCases: StoreCases = {
  'lets waiting tenants take turns, however long one has waited': async (store) => {
    const lane = (tenant: string, at: number) => ({ lane: `fair ${at}.${tenant}` })
    for (let at = 0; at < 20; at++) await store.insert(newEntry(lane('many', at)))
    const few = [lane('few', 1), lane('few', 2)].map((given) => newEntry(given))
    const late = { storedAt: start + 1 }
    for (const entry of few) await store.insert({ ...entry, ...late })
    const [alone] = await kept(store, late)
    const first = idsOf(await claim(store, 6, start + 1))
    const missing = [...few, alone].filter(({ id }) => !first.includes(id))
    same(missing, [])
    same(first.length, 6)
    const [next] = await kept(store, { ...lane('few', 3), ...late })
    const two = [...(await claim(store, 1, start + 1)), ...(await claim(store, 1, start + 1))]
    same(two.filter(({ id }) => id === next.id).length, 1, 'one by one')
  },
  'passes over tenants whose entries wait for their retry': async (store) => {
    const waiting = Array.from({ length: 40 }, (_, at) => newEntry({ lane: `w.a${at + 10}` }))
    for (const entry of waiting) await store.insert(entry)
    for (let left = waiting.length; left > 0; ) {
      const claimed = await claim(store, 10)
      left -= claimed.length
      for (const one of claimed) {
        await settle(store, one, { to: 'retry', due: start + 60_000, ...failed })
      }
    }
    const [last] = await kept(store, { lane: 'w.z' })
    same((await claimOne(store)).id, last.id)
  },
}

const alignment = { now: start, latest: start + 1_000, free: true }

/** An entry that was unreadable when it was kept, with its event as it reads now. */
async function unread(store: InboxStore, read: Partial<NewEntry>) {
  const { name: _, receivedName: __, ...arrived } = newEntry()
  await store.insert(arrived)
  const claimed = await claimOne(store)
  const entry = { ...newEntry({ ...read, storedAt: start }), id: arrived.id }
  const assign = (lease: Claimed = claimed) =>
    store.assign({ lease: leaseOf(lease), at: start, entry })
  return { arrived, claimed, entry, assign }
}

async function stateOf(store: InboxStore, id: string) {
  const [found] = await store.find({ ids: [id], limit: 1 })
  return [found?.state, found?.reason, found?.metadata !== undefined]
}

export const assigningCases: StoreCases = {
  'assigns an entry to its lane, with its event as it reads now, as new': async (store) => {
    const read = { lane: 'person', related: 'client', name: 'client.created' }
    const occurredAt = start - 5
    const { arrived, claimed, entry, assign } = await unread(store, { ...read, occurredAt })
    same(await assign(), 'stored')
    same(await assign(), 'lost')
    same(await settle(store, claimed, { to: 'done' }), false)
    same((await store.stats(start)).counts, { ...none, stored: 1 })
    const again = await claimOne(store)
    const { name, metadata, body } = entry
    const { seq } = claimed
    same({ ...again, name, occurredAt, metadata, body, attempt: 1, seq }, again)
    const found = await store.find({ lane: 'client', limit: 10 })
    same([found.length, found[0]?.receivedName], [1, entry.receivedName])
    await settle(store, again, { to: 'done' })
    same(await claim(store), [], 'its former lane is gone')
    const { key = '', digest } = entry
    const copy = { kind: 'duplicate', id: entry.id }
    const before = { key: arrived.key ?? '', digest: arrived.digest }
    for (const one of [{ key, digest }, before]) same(await store.insert(newEntry(one)), copy)
    same(await store.forget('person', start), 1)
  },
  'assigns an entry as new, whatever failed while it was not read': async (store) => {
    const { claimed, assign } = await unread(store, { lane: 'person' })
    await settle(store, claimed, { to: 'retry', due: start, ...failed })
    same(await assign(await claimOne(store)), 'stored')
    const { attempt, failed: before = [] } = await claimOne(store)
    same([attempt, before], [1, []])
  },
  'assigns an entry that has no other lane than its own': async (store) => {
    const { claimed, assign } = await unread(store, { lane: 'nobody' })
    const [_other] = await kept(store, { storedAt: start + 1 })
    same(await assign(), 'stored')
    const again = await claimOne(store)
    const lease = leaseOf(again)
    const entry = { ...newEntry({ lane: 'nobody' }), id: claimed.id }
    same(await store.assign({ lease, at: start, entry }), 'stored')
    same((await claim(store, 10, start + 1)).length, 2)
  },
  'assigns no entry that is a duplicate of another': async (store) => {
    const first = await done(store, { aliases: [{ key: 'occurrence', name: 'reconcile' }] })
    const { key = '', digest } = first
    const aliases = [{ key: 'occurrence', name: 'webhook' }]
    const another = { key: 'another', digest: 'own', aliases }
    for (const read of [{ key, digest }, another]) {
      const { arrived, claimed, assign } = await unread(store, { ...read, lane: 'person' })
      same(await assign(), 'duplicate')
      same(await stateOf(store, claimed.id), ['skipped', 'FORGOTTEN', false])
      same(await settle(store, claimed, { to: 'done' }), false)
      const bytes = { ...newEntry(), key: arrived.key ?? '' }
      same(await store.insert(bytes), { kind: 'duplicate', id: claimed.id })
    }
    const late = { ...newEntry(), key: 'another', digest: 'own' }
    same(await store.insert(late), { kind: 'duplicate', id: first.id })
    same(await claim(store), [])
    same((await store.stats(start)).counts, { ...none, done: 1, skipped: 2 })
  },
  'assigns the evidence of a duplicate to the first entry': async (store) => {
    const aliases = [{ key: 'occurrence', name: 'webhook' }]
    const { arrived, assign } = await unread(store, { lane: 'person', aliases })
    const { name: _, ...another } = newEntry()
    same((await store.insert({ ...another, key: arrived.key ?? '' })).kind, 'conflict')
    const fed = [{ key: 'occurrence', name: 'reconcile' }]
    await store.insert(newEntry({ lane: 'person', aliases: fed }))
    same(await assign(), 'duplicate')
    same(await store.forget('person', start), 2)
  },
  'assigns other bytes under a known key as evidence, up to 8': async (store) => {
    const first = await done(store, { lane: 'person' })
    const read = { key: first.key ?? '', lane: 'person' }
    const { claimed, assign } = await unread(store, read)
    same(await assign(), 'conflict')
    const [found] = await store.find({ ids: [claimed.id], lane: 'person', limit: 1 })
    same([found?.state, found?.reason, found?.conflictOf], ['skipped', 'CONFLICT', first.id])
    same(await claim(store), [])
    for (let at = 1; at < 8; at++) same(await (await unread(store, read)).assign(), 'conflict')
    same(await (await unread(store, read)).assign(), 'duplicate')
    const reopening = { ids: [claimed.id], from: ['skipped' as const], now: start }
    same(await store.reopen({ ...reopening, setAside: true }), 1)
    same(await assign(await claimOne(store)), 'stored', 'who names it means it')
    same((await claimOne(store)).id, claimed.id)
    same(await store.forget('person', start), 9)
  },
  'assigns an entry under the key that it already has': async (store) => {
    const { name: _, ...arrived } = newEntry({ key: 'signed' })
    await store.insert(arrived)
    const entry = { ...newEntry({ key: 'signed', lane: 'person' }), id: arrived.id }
    const lease = leaseOf(await claimOne(store))
    same(await store.assign({ lease, at: start, entry }), 'stored')
    const { digest } = entry
    const copy = { kind: 'duplicate', id: arrived.id }
    same(await store.insert({ ...newEntry(), key: 'signed', digest }), copy)
    same((await store.insert({ ...newEntry(), key: 'signed' })).kind, 'conflict')
  },
  'assigns nothing under a lost lease, and no forgotten entry': async (store) => {
    const { arrived, claimed, assign } = await unread(store, { lane: 'person' })
    same(await store.forget(arrived.lane, start), 1)
    same(await assign(), 'lost')
    same(await stateOf(store, claimed.id), ['skipped', 'FORGOTTEN', false])
    const other = await unread(store, { lane: 'person' })
    await settle(store, other.claimed, { to: 'released' })
    const again = await claimOne(store)
    same(await other.assign(), 'lost')
    same(await settle(store, again, { to: 'done' }), true)
    same(await store.find({ lane: 'person', limit: 1 }), [])
  },
}

export const assigningOrderCases: StoreCases = {
  'assigns an entry its place by arrival, behind the entry at work': async (store) => {
    const lane = 'person'
    const { entry, claimed, assign } = await unread(store, { lane })
    const early = { lane, storedAt: start - 5 }
    const [second, third, fourth] = await kept(store, early, { lane }, { lane })
    const atWork = await claimOne(store)
    same([atWork.id, atWork.seq > claimed.seq], [second.id, true])
    same(await assign(), 'stored')
    same(await claim(store), [])
    // The entry at work is the head, though an older entry waits behind it.
    same((await store.stats(start)).oldest, start - 5)
    const order: string[] = []
    for (let next: Claimed | undefined = atWork; next; [next] = await claim(store, 1)) {
      order.push(next.id)
      await settle(store, next, { to: 'done' })
    }
    same(order, [second.id, entry.id, third.id, fourth.id])
  },
}
