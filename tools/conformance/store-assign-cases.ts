// Cases for every store: entries that get their lane after they arrived, because nobody could read
// them before.

import type { InboxStore } from '../../src/inbox/store.ts'
import type { Claimed, NewEntry } from '../../src/inbox/work-store.ts'
import { same } from '../../src/testing/same.ts'
import { claim, claimOne, leaseOf, newEntry, type StoreCase, settle } from './store-cases.ts'

const start = Date.UTC(2026, 0, 1)
const none = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }

/** An entry that was claimed as one that nobody could read, with what is read of it now. */
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

export const assigningCases: readonly StoreCase[] = [
  {
    name: 'assigns an entry to its lane, with what is read of it now, as new',
    run: async (store) => {
      const read = {
        lane: 'person',
        related: 'client',
        occurredAt: start - 5,
        name: 'client.created',
      }
      const { arrived, claimed, entry, assign } = await unread(store, read)
      same(await assign(), 'stored')
      same(await assign(), 'lost')
      same(await settle(store, claimed, { to: 'done' }), false)
      same((await store.stats(start)).counts, { ...none, stored: 1 })
      const again = await claimOne(store)
      const { name, occurredAt, metadata, body, attempt, seq } = again
      same([name, occurredAt, metadata, body], [entry.name, start - 5, entry.metadata, entry.body])
      same([attempt, seq], [1, claimed.seq])
      const found = await store.find({ lane: 'client', limit: 10 })
      same([found.length, found[0]?.receivedName], [1, entry.receivedName])
      await settle(store, again, { to: 'done' })
      same(await claim(store), [], 'its former lane is gone')
      const { key = '', digest } = entry
      const copy = { kind: 'duplicate', id: entry.id }
      same(await store.insert({ ...newEntry(), key, digest }), copy)
      same(
        await store.insert({ ...newEntry(), key: arrived.key ?? '', digest: arrived.digest }),
        copy,
      )
      same(await store.forget('person', start), 1)
    },
  },
  {
    name: 'assigns an entry as new, whatever failed while it was not read',
    run: async (store) => {
      const { claimed, assign } = await unread(store, { lane: 'person' })
      const failures = [{ handler: 'h', code: 'HANDLER_FAILED', error: 'Error' }]
      const failed = { reason: 'HANDLER_FAILED', failures } as const
      await settle(store, claimed, { to: 'retry', due: start, ...failed })
      same(await assign(await claimOne(store)), 'stored')
      const { attempt, failed: before = [] } = await claimOne(store)
      same([attempt, before], [1, []])
    },
  },
  {
    name: 'assigns an entry its place by arrival, behind what is at work',
    needs: 'order',
    run: async (store) => {
      const lane = 'person'
      const { entry, claimed, assign } = await unread(store, { lane })
      const [second, third, fourth] = [newEntry({ lane }), newEntry({ lane }), newEntry({ lane })]
      for (const one of [second, third, fourth]) await store.insert(one)
      const atWork = await claimOne(store)
      same([atWork.id, atWork.seq > claimed.seq], [second.id, true])
      same(await assign(), 'stored')
      same(await claim(store), [])
      const order: string[] = []
      for (let next: Claimed | undefined = atWork; next; [next] = await claim(store, 1)) {
        order.push(next.id)
        await settle(store, next, { to: 'done' })
      }
      same(order, [second.id, entry.id, third.id, fourth.id])
    },
  },
  {
    name: 'assigns an entry that has no other lane than its own',
    run: async (store) => {
      const { claimed, assign } = await unread(store, { lane: 'nobody' })
      const other = newEntry({ storedAt: start + 1 })
      await store.insert(other)
      same(await assign(), 'stored')
      const again = await claimOne(store)
      const lease = leaseOf(again)
      const entry = { ...newEntry({ lane: 'nobody' }), id: claimed.id }
      same(await store.assign({ lease, at: start, entry }), 'stored')
      same((await claim(store, 10, start + 1)).length, 2)
    },
  },
  {
    name: 'assigns no entry that another stands for',
    run: async (store) => {
      const first = newEntry({ aliases: [{ key: 'occurrence', name: 'reconcile' }] })
      await store.insert(first)
      await settle(store, await claimOne(store), { to: 'done' })
      const { key = '', digest } = first
      const aliases = [{ key: 'occurrence', name: 'webhook' }]
      for (const read of [
        { key, digest },
        { key: 'another', aliases },
      ]) {
        const own = { digest: 'own', ...read, lane: 'person' }
        const { arrived, claimed, assign } = await unread(store, own)
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
  },
  {
    name: 'assigns the evidence of a duplicate to the first one, with which it is forgotten',
    run: async (store) => {
      const aliases = [{ key: 'occurrence', name: 'webhook' }]
      const { arrived, assign } = await unread(store, { lane: 'person', aliases })
      const { name: _, ...another } = newEntry()
      same((await store.insert({ ...another, key: arrived.key ?? '' })).kind, 'conflict')
      const fed = [{ key: 'occurrence', name: 'reconcile' }]
      await store.insert(newEntry({ lane: 'person', aliases: fed }))
      same(await assign(), 'duplicate')
      same(await store.forget('person', start), 2)
    },
  },
  {
    name: 'assigns an entry with the key of another and other bytes as evidence, up to 8',
    run: async (store) => {
      const first = newEntry({ lane: 'person' })
      await store.insert(first)
      await settle(store, await claimOne(store), { to: 'done' })
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
  },
  {
    name: 'assigns an entry that has the key itself, by other bytes than it arrived with',
    run: async (store) => {
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
  },
  {
    name: 'assigns nothing by a lease that was lost, and nothing that was forgotten meanwhile',
    run: async (store) => {
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
  },
]
