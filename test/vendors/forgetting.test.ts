// `forget` of a client covers everything that its vendor says of it, under any id.
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { type Vendor, vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'
import { inDialect } from '../../src/vendors/dialect.ts'
import { event, setUp } from '../inbox/admin.ts'

const secret = 'a-secret-of-thirty-two-characters'

function receiving(vendor: Vendor) {
  const inbox = createInbox({ store: memoryStore() })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({ vendor, secret, inbox, observe: () => {} })
  const send = async (event: object) => {
    const body = new TextEncoder().encode(JSON.stringify(event))
    const headers = await sign(body, { secret, scheme: vendor.scheme })
    expect((await receiver.receive({ body, headers })).kind).toBe('accepted')
  }
  return { inbox, receiver, worker: createWorker(receiver), send }
}

/** As Persona writes it: each record has an id of its own, and the account's id of the customer. */
const ofPersona = (name: string, data: object) => {
  const attributes = { name, 'created-at': new Date().toISOString(), payload: { data } }
  return { data: { type: 'event', id: `evt_${name}`, attributes } }
}

test('a handler of client.deleted that forgets its entity forgets the verifications of Sumsub', async () => {
  const vendor = vendors.sumsub()
  const { inbox, receiver, worker, send } = receiving(vendor)
  const forgotten: number[] = []
  receiver.on('client.deleted', async ({ entity, data }) => {
    expect(data).toMatchObject({ id: '5cb56e8e0a975a35f333cb83', clientId: 'user-1' })
    if (entity) forgotten.push(await inbox.forget(entity))
  })
  receiver.on('verification.*', () => {})
  for (const [at, { body }] of vendor.fixtures.entries()) {
    await send({ ...body, correlationId: `req-${at}` })
  }
  await worker.runOnce()
  expect(forgotten).toEqual([vendor.fixtures.length])
})

test.each([
  ['kebab-case', { 'reference-id': 'user-1', 'name-last': 'MORGAN' }],
  ['camelCase', { referenceId: 'user-1', nameLast: 'MORGAN' }],
  ['snake_case', { reference_id: 'user-1', name_last: 'MORGAN' }],
])('an account of Persona is the client of its reference id in %s', async (_, attributes) => {
  const { inbox, send } = receiving(vendors.persona())
  await send(ofPersona('account.created', { type: 'account', id: 'act_1', attributes }))
  await send(ofPersona('inquiry.approved', { type: 'inquiry', id: 'inq_1', attributes }))
  await send(ofPersona('inquiry.created', { type: 'inquiry', id: 'inq_2', attributes: {} }))
  expect(await inbox.forget('client:user-1')).toBe(2)
})

test("a client's event in the dialect of a vendor names the client as its verifications do", async () => {
  const vendor = vendors.sumsub()
  const { inbox, send } = receiving(vendor)
  const at = { occurredAt: new Date() }
  const approved = { id: 'ver_1', clientId: 'cli_1' }
  for (const one of [
    { name: 'verification.approved', id: 'evt_1', data: approved, ...at },
    { name: 'client.deleted', id: 'evt_2', data: { id: 'cli_1' }, ...at },
  ]) {
    await send(inDialect(vendor, one) ?? {})
  }
  expect(await inbox.forget('client:cli_1')).toBe(2)
})

test('an event of a client that names another id of it goes with that', async () => {
  const { deliver, inbox } = setUp()
  await deliver(event('client.updated', { id: 'record_1', clientId: 'user_1' }))
  await deliver(event('client.created', { id: 'user_1', clientId: 'user_1' }))
  await deliver(event('verification.approved', { clientId: 'user_1' }))
  await deliver(event('client.updated', { id: 'record_2', clientId: 'user_2' }))
  expect(await inbox.forget('client:user_1')).toBe(3)
  expect(await inbox.forget('client:record_2')).toBe(1)
})
