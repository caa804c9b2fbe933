// Entries that could not be read when they arrived, and are redriven after the fix.

import { type Scheme, schemes } from 'idv-webhooks'
import { createClient, reconcile } from 'idv-webhooks/client'
import { type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { createSandbox } from 'idv-webhooks/sandbox'
import { signedDelivery, testSecret } from 'idv-webhooks/testing'
import { defineVendor } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { event, type Parts, setUp } from './admin.ts'
import { temporaryFile } from './temporary.ts'

const scheme = schemes.standardWebhooks({ tolerance: 'none' })

/** A deployment whose envelope is wrong, and the next one, on one store. */
async function fixed(receiver: { readonly scheme?: Scheme }, store: InboxStore) {
  const at = (minute: number) => ({ createdAt: `2026-01-01T00:0${minute}:00Z` })
  const created = event('verification.created', {}, at(1))
  const submitted = event('verification.submitted', {}, at(2))
  const approved = event('verification.approved', {}, at(3))
  const before = setUp({
    receiver: { ...receiver, envelope: { name: 'kind' } },
    store,
  })
  const signed = (one: { id: string }) =>
    signedDelivery(one, { secret: testSecret, id: one.id, ...receiver })
  for (const one of [created, submitted, approved, approved]) {
    const { kind } = await before.receiver.receive(await signed(one))
    expect(kind === 'accepted' || one === approved).toBe(true)
  }
  expect((await before.worker.runOnce()).dead).toBeGreaterThan(2)
  await before.worker.drain()
  // It would take its memory along.
  if (store.capabilities.survives !== 'nothing') await before.inbox.close()
  const after = setUp({ receiver, store })
  const ran: string[] = []
  after.receiver.on('*', async ({ name }) => {
    ran.push(`begin ${name}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
    ran.push(`end ${name}`)
  })
  return { ...after, ran, submitted, signed }
}

const inOrder = (...steps: readonly string[]) =>
  steps.flatMap((step) => [`begin verification.${step}`, `end verification.${step}`])

test.each([
  ['memory', {}, memoryStore],
  ['SQLite', {}, () => sqliteStore(temporaryFile())],
  ['memory, with an id that the scheme signs', { scheme }, memoryStore],
] as const)('is handled once and in the order of its entity: %s', async (_, receiver, store) => {
  const { inbox, receiver: fine, worker, ran, submitted, signed } = await fixed(receiver, store())
  const late = await fine.receive(await signed(submitted))
  const isKnown = 'scheme' in receiver
  expect(late.kind).toBe(isKnown ? 'duplicate' : 'accepted')
  await inbox.redrive({ state: 'dead' })
  await worker.runOnce()
  const inLane = ['created', 'submitted', 'approved']
  // Its copy could be read, and came first.
  expect(ran).toEqual(inOrder(...(isKnown ? inLane : ['submitted', 'created', 'approved'])))
  expect(await inbox.stats()).toMatchObject({ dead: 0, done: 3, stored: 0 })
  const { entries } = await inbox.find()
  const erased = entries.filter(({ reason }) => reason === 'FORGOTTEN')
  expect(erased.map((one) => one.erased)).toEqual(erased.map(() => true))
  expect(entries).toHaveLength(3 + erased.length)
  for (const { id } of entries) await inbox.replay(id)
  ran.length = 0
  expect(await worker.runOnce()).toMatchObject({ done: 3 })
  expect(ran).toEqual(inOrder(...(isKnown ? inLane : ['created', 'approved', 'submitted'])))
  expect(await inbox.forget('verification:ver_1')).toBe(3)
  expect((await inbox.find()).entries.every((one) => one.erased)).toBe(true)
})

test('is handled once though the answer of the store is lost', async () => {
  const store = memoryStore()
  const { inbox, worker, ran } = await fixed({ scheme }, store)
  const assign = store.assign.bind(store)
  let lost = 0
  store.assign = async (assignment) => {
    const assigned = await assign(assignment)
    if (assigned === 'lost' || ++lost > 3) return assigned
    throw new Error('the answer is lost')
  }
  await inbox.redrive({ state: 'dead' })
  expect(await worker.runOnce()).toMatchObject({ done: 3, lost: 3 })
  expect(ran).toEqual(inOrder('created', 'submitted', 'approved'))
})

test('in its lane too where bytes tell duplicates and events have no ids', async () => {
  const store = memoryStore()
  const options = { dedupe: 'body', store } as const
  const before = setUp({ ...options, receiver: { envelope: { name: 'kind' } } })
  for (const name of ['verification.created', 'verification.approved']) {
    const { id: _, ...one } = event(name)
    await before.receiver.receive(await signedDelivery(one, { secret: testSecret }))
  }
  expect(await before.worker.runOnce()).toMatchObject({ dead: 2 })
  await before.worker.drain()
  const after = setUp(options)
  const ran: string[] = []
  after.receiver.on('*', async ({ name }) => {
    ran.push(`begin ${name}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
    ran.push(`end ${name}`)
  })
  await after.inbox.redrive({ state: 'dead' })
  await after.worker.runOnce()
  expect(ran).toEqual(inOrder('created', 'approved'))
  expect(await after.inbox.forget('verification:ver_1')).toBe(2)
})

test('stays as evidence where another event has its id', async () => {
  const store = memoryStore()
  const before = setUp({ receiver: { envelope: { name: 'kind' } }, store })
  const one = event('verification.approved')
  await before.receiver.receive(await signedDelivery(one, { secret: testSecret }))
  expect(await before.worker.runOnce()).toMatchObject({ dead: 1 })
  await before.worker.drain()
  const { inbox, receiver, worker, deliver, seen } = setUp({ store })
  const ran: string[] = []
  receiver.on('*', ({ name }) => ran.push(name))
  await deliver({ ...event('verification.rejected'), id: one.id })
  await worker.runOnce()
  await inbox.redrive({ state: 'dead' })
  expect(await worker.runOnce()).toMatchObject({ skipped: 1 })
  expect(seen.at(-1)).toMatchObject({ type: 'settled', state: 'skipped', reason: 'CONFLICT' })
  expect(ran).toEqual(['verification.rejected'])
  const { entries } = await inbox.find({ entity: 'verification:ver_1', state: 'skipped' })
  const [{ id = '' } = {}] = entries
  expect(entries.map(({ reason, erased }) => [reason, erased])).toEqual([['CONFLICT', false]])
  expect(await inbox.redrive(id)).toBe(1)
  expect(await worker.runOnce()).toMatchObject({ done: 1 })
  expect(ran).toEqual(['verification.rejected', 'verification.approved'])
  expect(await inbox.forget('verification:ver_1')).toBe(2)
  expect((await inbox.find()).entries.every(({ erased }) => erased)).toBe(true)
})

test('conflicts not with itself where repeats have a part alone in common', async () => {
  const vendor = defineVendor({
    name: 'acme',
    title: 'Acme',
    documents: [{ url: 'https://acme.example/docs', read: '2026-11-22' }],
    triedOn: 'documents',
    scheme,
    reading: {
      name: ['type'],
      subject: ['session'],
      volatile: ['sentAt'],
      rules: [{ when: { type: 'ok' }, is: 'verification.approved' }],
    },
    finality: { final: ['verification.approved'], reversible: [] },
    delivery: { success: '2xx' },
    fixtures: [],
  })
  const store = memoryStore()
  const sent = async (sentAt: number) => {
    const body = { type: 'ok', session: 'ver_1', sentAt }
    return signedDelivery(body, { secret: testSecret, scheme, id: 'msg_1' })
  }
  const before = setUp({ receiver: { scheme, envelope: { name: 'kind' } }, store })
  await before.receiver.receive(await sent(1))
  await before.worker.runOnce()
  await before.worker.drain()
  const { inbox, receiver, worker } = setUp({ receiver: { vendor }, store })
  receiver.on('*', () => {})
  await inbox.redrive({ state: 'dead' })
  expect(await worker.runOnce()).toMatchObject({ done: 1, skipped: 0 })
  expect((await inbox.find()).entries).toHaveLength(1)
  expect((await receiver.receive(await sent(2))).kind).toBe('duplicate')
  expect((await inbox.find()).entries).toHaveLength(1)
})

/** A verification that the service has approved, and its client. */
async function approvedVerification() {
  const sandbox = await createSandbox({ seed: 1 })
  onTestFinished(() => sandbox.close())
  const { baseUrl, apiKey, fetch } = sandbox
  const client = createClient({ baseUrl, apiKey, fetch })
  const { id } = await client.verifications.create({ type: 'idv', requirements: ['document'] })
  await sandbox.act(id, ['start', 'submit', 'approve'])
  return { client, verification: await client.verifications.get(id) }
}

interface Mapped extends Parts {
  /** Handlers of the first deployment, by their ids. */
  readonly heard?: Readonly<Record<string, () => void>>
  readonly data?: { readonly id: string }
  /** The family of names in the second deployment. */
  readonly family?: string
}

/** A deployment whose envelope passes the sender's names on, and the next one, which maps them. */
async function mapped({ heard = {}, data, family = 'verification', ...parts }: Mapped = {}) {
  const store = parts.store ?? memoryStore()
  const through = (name: string) => ({
    envelope: (body: unknown) => {
      const { kind, id, at, data } = body as { kind: string; id: string; at: string; data: object }
      return { name: kind.replace('kyc', name), id, occurredAt: at, data }
    },
  })
  const kyc = (step: string, minute: number) => ({
    kind: `kyc.${step}`,
    id: `evt_kyc_${step}`,
    at: `2026-01-01T00:0${minute}:00Z`,
    data: data ?? { id: 'ver_1' },
  })
  const before = setUp({ ...parts, store, receiver: through('kyc') })
  for (const [id, handler] of Object.entries(heard)) before.receiver.on('*', handler, { id })
  for (const [at, step] of ['created', 'submitted', 'approved'].entries()) {
    expect((await before.deliver(kyc(step, at))).kind).toBe('accepted')
  }
  await before.worker.runOnce()
  await before.worker.drain()
  if (store.capabilities.survives !== 'nothing') await before.inbox.close()
  const after = setUp({ ...parts, store, receiver: through(family) })
  const ran: string[] = []
  const hear = async ({ name }: { readonly name: string }) => {
    ran.push(`begin ${name}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
    ran.push(`end ${name}`)
  }
  after.receiver.on('*', hear, { id: 'crm' })
  return { ...after, ran, kyc }
}

test.each([
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const)('so is one whose name was not translated before: %s', async (_, store) => {
  const { inbox, worker, deliver, ran, kyc } = await mapped({ store: store() })
  expect(await inbox.redrive({ state: 'skipped' })).toBe(3)
  await deliver(kyc('canceled', 4))
  expect((await deliver(kyc('created', 0))).kind).toBe('duplicate')
  await worker.runOnce()
  expect(ran).toEqual(inOrder('canceled', 'created', 'submitted', 'approved'))
  expect(await inbox.redrive({ state: 'skipped' })).toBe(0)
  expect((await inbox.find({ entity: 'verification:ver_1' })).entries).toHaveLength(4)
  expect(await inbox.forget('verification:ver_1')).toBe(4)
  expect((await inbox.find()).entries.every((one) => one.erased)).toBe(true)
})

test('once where reconcile has fed it meanwhile', async () => {
  const { client, verification } = await approvedVerification()
  const { inbox, receiver, worker, ran } = await mapped({ data: verification })
  const { events } = await reconcile({ client, receiver, since: '2020-01-01T00:00:00Z' })
  expect(events.fed).toBe(3)
  expect(await worker.runOnce()).toMatchObject({ done: 3 })
  await inbox.redrive({ state: 'skipped' })
  expect(await worker.runOnce()).toMatchObject({ skipped: 3 })
  expect(ran).toEqual(inOrder('created', 'submitted', 'approved'))
})

const failing = () => {
  throw new Error('down')
}
const inPlace = { done: 3, skipped: 0 }

test('not where one is replayed that was handled under its own name', async () => {
  const { inbox, worker, ran } = await mapped({ heard: { crm: () => {} } })
  const { entries } = await inbox.find()
  for (const { id } of entries.toReversed()) expect(await inbox.replay(id)).toBe(true)
  expect(await worker.runOnce()).toMatchObject(inPlace)
  expect(ran).toEqual(inOrder('created', 'submitted', 'approved'))
})

test.each([
  ['has succeeded', { mail: () => {}, crm: failing }, 1],
  ['has failed and waits for its retry', { crm: failing }, 12],
] as const)(
  'and where a part of its handlers %s, in the lane of its entity',
  async (_, heard, attempts) => {
    let clock = Date.now()
    const retry = { attempts, delays: [60_000], random: () => 1 }
    const parts = { heard, retry, now: () => new Date(clock) }
    const { inbox, worker, deliver, kyc, ran } = await mapped(parts)
    expect(await inbox.stats()).toMatchObject({ done: 0, skipped: 0 })
    await deliver(kyc('canceled', 4))
    await worker.runOnce({ limit: 1 })
    clock += 61_000
    await inbox.redrive({ state: 'dead' })
    await worker.runOnce()
    expect(ran).toEqual(inOrder('canceled', 'created', 'submitted', 'approved'))
    expect(await inbox.stats()).toMatchObject({ done: 4, dead: 0, retry: 0 })
    expect(await inbox.forget('verification:ver_1')).toBe(4)
  },
)

test('and once where its own name is of the same entity', async () => {
  const { client, verification } = await approvedVerification()
  const store = memoryStore()
  const through = (name: (kind: string) => string) => ({
    envelope: (body: unknown) => {
      const { kind, id, data } = body as { kind: string; id: string; data: object }
      return { name: name(kind), id, data }
    },
  })
  const before = setUp({ store, receiver: through((kind) => `verification.${kind}`) })
  await before.deliver({ kind: 'decision_approved', id: 'evt_1', data: verification })
  await before.worker.runOnce()
  await before.worker.drain()
  const after = setUp({ store, receiver: through(() => 'verification.approved') })
  const ran: string[] = []
  after.receiver.on('verification.approved', ({ source }) => ran.push(source))
  await after.inbox.redrive({ state: 'skipped' })
  await after.worker.runOnce()
  const { receiver } = after
  const { events } = await reconcile({ client, receiver, since: '2020-01-01T00:00:00Z' })
  expect(events.fed).toBe(2)
  await after.worker.runOnce()
  expect(ran).toEqual(['webhook'])
})

test('not for another name of the sender: old and new processes would take turns', async () => {
  const { inbox, worker, ran } = await mapped({ family: 'acme' })
  expect(await inbox.redrive({ state: 'skipped' })).toBe(3)
  expect(await worker.runOnce()).toMatchObject(inPlace)
  expect(ran.map((step) => step.split('.')[0])).toContain('begin acme')
})

test('not where an event of the service is that of another entity by now', async () => {
  const store = memoryStore()
  const through = (field: 'person' | 'check') => ({
    envelope: (body: unknown) => {
      const read = body as { readonly id: string; readonly person: string; readonly check: string }
      return { name: 'verification.created', id: read.id, data: { id: read[field] } }
    },
  })
  const before = setUp({ store, receiver: through('person') })
  await before.deliver({ id: 'evt_1', person: 'one', check: 'ver_1' })
  expect(await before.worker.runOnce()).toMatchObject({ skipped: 1 })
  await before.worker.drain()
  const after = setUp({ store, receiver: through('check') })
  after.receiver.on('*', () => {})
  await after.inbox.redrive({ state: 'skipped' })
  expect(await after.worker.runOnce()).toMatchObject({ done: 1, skipped: 0 })
})

test('with the client that the sender has named, whatever a schema leaves of its data', async () => {
  const store = memoryStore()
  const before = setUp({ receiver: { envelope: { name: 'kind' } }, store })
  await before.deliver(event('verification.approved', { clientId: 'cli_1' }))
  await before.worker.runOnce()
  await before.worker.drain()
  const schemas = { 'verification.approved': z.object({ id: z.string() }) }
  const { inbox, receiver, worker } = setUp({ receiver: { schemas }, store })
  const seen: unknown[] = []
  receiver.on('*', ({ data }) => seen.push(data))
  await inbox.redrive({ state: 'dead' })
  expect(await worker.runOnce()).toMatchObject({ done: 1 })
  expect(seen).toEqual([{ id: 'ver_1' }])
  expect(await inbox.forget('client:cli_1')).toBe(1)
})
