// A sandbox that plays a vendor: its preset by name, and the keys with which it signs.
import { createReceiver, createWorker, schemes } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { publicKey } from 'idv-webhooks/keys'
import { createSandbox, type VendorName } from 'idv-webhooks/sandbox'
import { recordHandlers } from 'idv-webhooks/testing'
import { defineVendor, type Vendor, vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  actionsTo,
  decisionNames,
  presetWith,
  receivingFrom,
  toldOf,
  vendorNames,
} from './vendor-receiver.ts'

/** A vendor that signs with a key pair, in its header or in a JWT. */
function signingVendor(scheme: Vendor['scheme']): Vendor {
  const body = { type: 'created', id: 'v_1', event: 'e_1' }
  return defineVendor({
    ...vendors.persona(),
    name: 'signing',
    scheme,
    reading: {
      name: ['type'],
      subject: ['id'],
      id: ['event'],
      rules: [{ when: { type: 'created' }, is: 'verification.created' }],
    },
    finality: { final: [], reversible: [] },
    fixtures: [{ name: 'verification.created', body }],
  })
}

const pair = { key: 'pem', encoding: 'base64', grammar: 'plain', signed: '{body}' } as const
const ed25519 = schemes.define({ name: 'signing', header: 'x-sign', algorithm: 'ed25519', ...pair })
const es256 = schemes.define({ name: 'signing', header: 'x-sign', algorithm: 'es256', ...pair })

test.each([
  ['Ed25519', ed25519],
  ['ES256', es256],
  ['an ES256 JWT of the body', vendors.plaid().scheme],
])('signs by %s, with a key that its receiver verifies', async (_, scheme) => {
  const vendor = signingVendor(scheme)
  const sandbox = await createSandbox({
    vendor,
    seed: 1,
    rateLimit: false,
    fetch: (request) => toFetch(receiver)(request),
    subscriptions: [{ url: 'http://receiver.test/' }],
  })
  onTestFinished(() => sandbox.close())
  const receiver = createReceiver({ vendor, secret: publicKey(sandbox.publicKey) })
  const recorder = recordHandlers(receiver)
  sandbox.faults.set([{ kind: 'wrong-secret', times: 1 }])
  for (const _ of [1, 2]) await create(sandbox)
  await sandbox.flush()
  expect(sandbox.deliveries.list().map(({ attempts }) => attempts[0]?.status)).toEqual([200, 401])
  expect(recorder.events).toHaveLength(1)
  // The same seed gives the same key.
  const again = await createSandbox({ vendor, seed: 1 })
  expect(again.publicKey).toBe(sandbox.publicKey)
  await again.close()
})

test('a vendor by its name; a name that is wrong is answered with the nearest one', async () => {
  const sandbox = await createSandbox({ vendor: 'veriff' })
  expect(sandbox.publicKey).toBeUndefined()
  await sandbox.close()
  await expect(createSandbox({ vendor: 'verif' as never })).rejects.toThrow(
    /alloy, cashfree, .*got string 'verif'\. Did you mean 'veriff'\?/,
  )
})

/** Plays a vendor to a receiver, without and with an inbox; keeps the decisions that it heard. */
async function playing(name: VendorName, isKept: boolean) {
  const sandbox = await createSandbox({
    vendor: name,
    seed: 1,
    rateLimit: false,
    fetch: (request) => take(request),
    subscriptions: [{ url: 'http://127.0.0.1/' }],
  })
  onTestFinished(() => sandbox.close())
  const vendor = presetWith(name, sandbox.api)
  const inbox = isKept
    ? createInbox({ store: sqliteStore(':memory:'), retry: { delays: [1] } })
    : undefined
  const receiver = createReceiver({
    ...receivingFrom(sandbox, vendor),
    ...(inbox && { inbox }),
    observe: () => {},
  })
  const heard: string[] = []
  receiver.on([...decisionNames], ({ name, entity, decidedBy }) => {
    heard.push(`${entity?.id} ${name} ${decidedBy}`)
  })
  receiver.fallback(() => {})
  const take = toFetch(receiver, { address: () => '127.0.0.1' })
  const worker = inbox && createWorker(receiver)
  onTestFinished(() => inbox?.close())
  const settle = async () => {
    await sandbox.flush()
    await worker?.runOnce()
  }
  return { sandbox, vendor, receiver, heard, settle }
}

describe.each(vendorNames)('%s', (name) => {
  test.each([
    ['without an inbox', false],
    ['with an inbox', true],
  ])('each decision reaches its handler, %s', async (_, isKept) => {
    const { sandbox, vendor, heard, settle } = await playing(name, isKept)
    const expected: string[] = []
    for (const decision of decisionNames) {
      const { id } = await (await create(sandbox)).json()
      await settle()
      for (const action of actionsTo[decision]) {
        await sandbox.act(id, action)
        await settle()
      }
      const by = toldOf(vendor, decision)
      if (by) expected.push(`${id} ${decision} ${by}`)
    }
    expect(heard).toEqual(expected)
    expect(sandbox.deliveries.list().every((one) => one.status === 'delivered')).toBe(true)
  })
})

test('a thin event and its twin are one event, whose decision the API has', async () => {
  const { sandbox, heard, settle } = await playing('stripeIdentity', true)
  sandbox.faults.set([
    { kind: 'thin', times: 1, event: 'verification.approved' },
    { kind: 'overlap', event: 'verification.approved' },
  ])
  const ids: string[] = []
  for (const _ of [1, 2]) {
    const { id } = await (await create(sandbox)).json()
    await sandbox.act(id, ['start', 'submit', 'approve'])
    await settle()
    ids.push(id)
  }
  const sent = sandbox.deliveries.list({ event: 'verification.approved' })
  const types = sent.map(({ id }) => {
    const body = Buffer.from(sandbox.deliveries.get(id)?.body ?? '', 'base64')
    return JSON.parse(String(body)).type
  })
  const type = 'identity.verification_session.verified'
  expect(types).toEqual([`v1.${type}`, type, `v1.${type}`])
  expect(heard).toEqual([
    `${ids[0]} verification.approved api`,
    `${ids[1]} verification.approved signed`,
  ])
})

test('the API is answered by its own path and credentials, from the present state', async () => {
  const { sandbox } = await playing('plaid', false)
  const { id } = await (await create(sandbox)).json()
  const { baseUrl, clientId, secret } = sandbox.api
  const read = async (body: object, path = '/identity_verification/get') => {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await sandbox.api.fetch(`${baseUrl}${path}`, request)
    return { status: response.status, record: await response.json() }
  }
  const known = { client_id: clientId, secret, identity_verification_id: id }
  expect(await read(known)).toMatchObject({ status: 200, record: { id, status: 'active' } })
  await sandbox.act(id, ['start', 'submit', 'approve'])
  expect((await read(known)).record.status).toBe('success')
  await sandbox.act(id, ['reject'], { force: true })
  expect((await read(known)).record.status).toBe('failed')
  sandbox.faults.set([
    { kind: 'stale-record', times: 1 },
    { kind: 'error-429', seconds: 7, path: '/identity_verification' },
  ])
  expect((await read(known)).record.status).toBe('success')
  expect((await read(known)).status).toBe(429)
  sandbox.faults.clear()
  expect((await read({ ...known, secret: 'another' })).status).toBe(401)
  expect((await read({ ...known, identity_verification_id: 'unknown' })).status).toBe(404)
  // The key of its signature, as Plaid gives it.
  const path = '/webhook_verification_key/get'
  const { record } = await read({ client_id: clientId, secret, key_id: 'sandbox' }, path)
  expect(record.key).toMatchObject({ kid: 'sandbox', alg: 'ES256', crv: 'P-256' })
  expect((await read({ client_id: clientId, secret, key_id: 'other' }, path)).status).toBe(404)
})

test('a decision that changes between two attempts reaches every handler', async () => {
  const { sandbox, receiver, heard, settle } = await playing('plaid', true)
  let id = ''
  const keys = new Set<string>()
  receiver.on(['verification.approved', 'verification.rejected'], (_, { idempotencyKey }) => {
    keys.add(idempotencyKey)
  })
  receiver.on('verification.approved', async () => {
    await sandbox.act(id, 'reject', { force: true })
    throw new Error('it fails once')
  })
  id = (await (await create(sandbox)).json()).id
  await sandbox.act(id, ['start', 'submit'])
  await settle()
  await sandbox.act(id, 'approve')
  await vi.waitFor(async () => {
    await settle()
    expect(heard).toEqual([`${id} verification.approved api`, `${id} verification.rejected api`])
  })
  await settle()
  expect(heard).toHaveLength(2)
  expect(keys.size).toBe(2)
})

test.each(['plaid', 'yoti'] as const)(
  'a decision of %s is handled once, however many hints there are',
  async (name) => {
    const { sandbox, heard, settle } = await playing(name, true)
    const { id } = await (await create(sandbox)).json()
    sandbox.faults.set([{ kind: 'duplicate' }])
    await sandbox.act(id, ['start', 'submit', 'approve'])
    await settle()
    await settle()
    expect(heard).toEqual([`${id} verification.approved api`])
  },
)

test('a login gives a token, and the API of Yoti wants a signature', async () => {
  const jumio = (await playing('jumio', false)).sandbox
  const login = (password: string, grant: string) =>
    jumio.fetch(`${jumio.url}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(password)}` },
      body: new URLSearchParams({ grant_type: grant }),
    })
  const { key, secret, token } = jumio.api
  const given = await login(`${key}:${secret}`, 'client_credentials')
  expect(await given.json()).toEqual({ access_token: token })
  expect((await login(`${key}:other`, 'client_credentials')).status).toBe(401)
  expect((await login(`${key}:${secret}`, 'password')).status).toBe(401)
  const yoti = (await playing('yoti', false)).sandbox
  const { id } = await (await create(yoti)).json()
  const path = `${yoti.url}/sessions/${id}?sdkId=${yoti.api.clientId}`
  expect((await yoti.fetch(path)).status).toBe(401)
})

test('a read that fails is repeated until the decision is there', async () => {
  const { sandbox, heard, settle } = await playing('plaid', true)
  const { id } = await (await create(sandbox)).json()
  await sandbox.act(id, ['start', 'submit'])
  await settle()
  sandbox.faults.set([{ kind: 'error-500', times: 1 }])
  await sandbox.act(id, 'approve')
  await vi.waitFor(async () => {
    await settle()
    expect(heard).toEqual([`${id} verification.approved api`])
  })
  expect(sandbox.faults.list()).toMatchObject([{ struck: 1 }])
})

test('the console proves the attempts of a vendor by its own scheme', async () => {
  for (const name of vendorNames) {
    const sandbox = await createSandbox({
      vendor: name,
      seed: 1,
      fetch: async () => new Response(null),
      // A vendor with a key pair signs with that, whatever the secret of a subscription is.
      subscriptions: [{ url: 'http://127.0.0.1/', secret: 'the-secret-of-a-subscription' }],
    })
    onTestFinished(() => sandbox.close())
    const { id } = await (await create(sandbox)).json()
    for (const action of actionsTo['verification.approved']) await sandbox.act(id, action)
    await sandbox.act(id, 'expire', { force: true })
    await sandbox.flush()
    for (const one of sandbox.deliveries.list()) {
      const address = `${sandbox.url}/_console/deliveries/${one.id}`
      const { attempts } = await (await sandbox.fetch(address)).json()
      // Nothing in the bytes tells of an address.
      expect(attempts, name).toHaveLength(1)
      expect(attempts[0].ok, name).toBe(name === 'jumio' ? undefined : true)
    }
  }
})

const create = (sandbox: Awaited<ReturnType<typeof createSandbox>>) =>
  sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': sandbox.apiKey },
    body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
  })
