// Decisions of vendors who state no times: the order of arrival tells which one holds.

import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox, type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'
import { Finality } from '../../src/dispatch/finality.ts'
import { inDialect } from '../../src/vendors/dialect.ts'
import { temporaryFile } from '../inbox/temporary.ts'

const secret = 'a-secret-of-thirty-two-characters'
const vendor = vendors.didit()
const approved = 'verification.approved'
const rejected = 'verification.rejected'

/** A deployment; `isBlind` where its envelope finds no names. */
function deployed(store: InboxStore, { isBlind = false, ahead = 0 } = {}) {
  const now = () => new Date(Date.now() + ahead)
  const inbox = createInbox({ store, now })
  onTestFinished(() => inbox.close())
  const reading = isBlind ? { scheme: vendor.scheme, envelope: { name: 'none' } } : { vendor }
  const receiver = createReceiver({ secret, inbox, observe: () => {}, ...reading })
  const worker = createWorker(receiver)
  const heard: string[] = []
  for (const name of [approved, rejected] as const) {
    receiver.on(name, () => heard.push(name), { stale: 'skip' })
  }
  if (!isBlind) receiver.on('verification.reversed', ({ decision }) => heard.push(`to ${decision}`))
  const send = async (name: string, at: number) => {
    const event = { name, id: `evt_${at}`, occurredAt: new Date(at), data: { id: 'ver_1' } }
    const body = new TextEncoder().encode(JSON.stringify(inDialect(vendor, event)))
    const headers = await sign(body, { secret, scheme: vendor.scheme })
    expect((await receiver.receive({ body, headers })).kind).toBe('accepted')
    await worker.runOnce()
  }
  const end = async () => {
    await worker.drain()
    // It would take its memory along.
    if (store.capabilities.survives !== 'nothing') await inbox.close()
  }
  return { inbox, worker, heard, send, end }
}

const stores = [
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const

test.each(stores)(
  'an older one that was unread is stale when it is redriven: %s',
  async (_, make) => {
    const store = make()
    const before = deployed(store, { isBlind: true })
    await before.send(approved, 1)
    await before.end()
    const { inbox, worker, heard, send } = deployed(store)
    await send(rejected, 2)
    expect(await inbox.redrive({ state: 'dead' })).toBe(1)
    expect(await worker.runOnce()).toMatchObject({ done: 1, released: 1 })
    expect(heard).toEqual([rejected])
  },
)

test.each(stores)('a later one holds after a clock that was ahead: %s', async (_, make) => {
  const store = make()
  const before = deployed(store, { ahead: 3 * 3_600_000 })
  await before.send(approved, 1)
  expect(before.heard).toEqual([approved])
  await before.end()
  const { heard, send } = deployed(store)
  await send(rejected, 2)
  expect(heard).toEqual([rejected, `to ${rejected}`])
})

test('a later one holds in a store whose numbers begin anew', () => {
  const finality = new Finality(vendor.finality)
  const last = finality.decided({ name: approved }, { entryId: 'a', seq: 900 }, undefined)
  const place = { entryId: 'b', seq: 1 }
  expect(finality.isStale({ name: rejected }, place, { final: false, decision: last })).toBe(false)
  expect(finality.replaced({ name: rejected }, place, last)).toMatchObject({ name: approved })
})
