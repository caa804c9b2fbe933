// The life of a decision that is read: time limits, crashes, shared reads, reversals, and which
// decisions `accept` lets through.
import { execFile } from 'node:child_process'
import { createVerify } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createReceiver, createWorker, type DecidedBy, parse } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { defineVendor, type Vendor, vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { temporaryFile } from '../inbox/temporary.ts'
import {
  credentials,
  deliveryOf,
  hintOf,
  makers,
  receiving,
  recordOf,
  yotiKey,
} from './deciding.ts'
import { type Answer, vendorApi } from './vendor-api.ts'

const [approved, rejected] = ['verification.approved', 'verification.rejected']
const plaid = vendors.plaid()
const hint = hintOf(plaid)
const success = recordOf(plaid, approved)
const failure = { ...recordOf(plaid, rejected), completed_at: '2026-01-29T15:00:39Z' }

async function plaidWith(...answers: readonly Answer[]) {
  const api = await vendorApi(...answers)
  const vendor = vendors.plaid({ api: { ...credentials, baseUrl: api.baseUrl } })
  return { api, vendor, ...receiving(vendor, { store: memoryStore() }) }
}

test('a read has the time limit of the API and that of a handler', async () => {
  const api = await vendorApi('silence')
  const given = { ...credentials, baseUrl: api.baseUrl }
  const impatient = receiving(vendors.plaid({ api: { ...given, timeout: 50 } }))
  expect(await impatient.receiver.receive(deliveryOf(plaid, hint))).toMatchObject({
    kind: 'failed',
    code: 'HANDLER_FAILED',
    errors: [{ handler: 'decision', error: { name: 'TimeoutError' } }],
  })
  const handler = receiving(vendors.plaid({ api: given }), { handlerTimeout: 50 })
  expect(await handler.receiver.receive(deliveryOf(plaid, hint))).toMatchObject({
    kind: 'failed',
    code: 'HANDLER_TIMEOUT',
  })
  const kept = receiving(vendors.plaid({ api: given }), {
    store: memoryStore(),
    handlerTimeout: 50,
  })
  await kept.deliver(hint)
  const { entries } = (await kept.inbox?.find({})) ?? {}
  expect(entries).toMatchObject([{ state: 'retry', reason: 'HANDLER_TIMEOUT', attempts: 1 }])
})

test('a drain ends a read, and the entry is released without an attempt', async () => {
  const { api, worker, inbox, receiver } = await plaidWith('silence')
  await receiver.receive(deliveryOf(plaid, hint))
  await worker?.start()
  await vi.waitFor(() => expect(api.asked).toHaveLength(1))
  await worker?.drain({ grace: 0 })
  const { entries } = (await inbox?.find({})) ?? {}
  expect(entries).toMatchObject([{ state: 'stored', attempts: 0 }])
})

test('a redirect is not followed: it would take the credentials along', async () => {
  const elsewhere = await vendorApi({ record: success })
  const location = { location: `${elsewhere.baseUrl}/` }
  const { deliver, heard } = await plaidWith({ status: 307, headers: location })
  await deliver(hint)
  expect([heard, elsewhere.asked]).toEqual([[], []])
})

test('an answer that asks to wait holds back the reads of all verifications', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { api, deliver, inbox } = await plaidWith({ status: 503, headers: { 'retry-after': '60' } })
  for (const id of ['idv_1', 'idv_2']) await deliver({ ...hint, identity_verification_id: id })
  expect(api.asked).toHaveLength(1)
  const { entries } = (await inbox?.find({})) ?? {}
  expect(new Set(entries?.map(({ dueAt }) => dueAt?.getTime())).size).toBe(1)
})

test('an entry shows the status of the answer, and never its text', async () => {
  const { inbox, deliver } = await plaidWith({ status: 403, text: 'Leslie Knope' })
  await deliver(hint)
  const { entries } = (await inbox?.find({})) ?? {}
  expect(JSON.stringify(entries)).toContain('the API of plaid answered 403')
  expect(JSON.stringify(entries)).not.toContain('Leslie')
})

test('a worker that is killed between the read and the handler decides again', async () => {
  const stripe = vendors.stripeIdentity()
  const api = await vendorApi({ record: recordOf(stripe, approved) })
  const file = temporaryFile()
  const here = (name: string) => join(import.meta.dirname, name)
  const args = ['--import', here('../kept/from-source.ts'), here('crashing-worker.ts')]
  const body = JSON.stringify(hintOf(stripe))
  const crashed = promisify(execFile)(process.execPath, [...args, file, api.baseUrl, body])
  await expect(crashed).rejects.toMatchObject({ signal: 'SIGKILL', stdout: 'accepted\n' })
  expect(api.asked).toHaveLength(1)
  const vendor = vendors.stripeIdentity({ api: { token: 'the-token', baseUrl: api.baseUrl } })
  const inbox = createInbox({ store: sqliteStore(file) })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({ vendor, secret: 'a-secret-of-the-next-process', inbox })
  const handled = vi.fn()
  receiver.on('verification.approved', ({ data, decidedBy }, { attempt }) => {
    handled(data.status, decidedBy, attempt)
  })
  expect(await createWorker(receiver).runOnce()).toMatchObject({ done: 1 })
  expect(handled.mock.calls).toEqual([['approved', 'api', 2]])
  expect(api.asked).toHaveLength(2)
})

test('an entry that came after a read began is read anew', async () => {
  const { api, deliver, heard } = await plaidWith({ record: success }, { record: failure })
  await deliver(hint)
  await deliver(hint)
  expect(api.asked).toHaveLength(2)
  expect(heard).toEqual([`${approved} by api`, `${rejected} by api`])
})

describe('the record of the vendor tells', () => {
  test('that a decision is the last one, which runs no handler again; a replay does', async () => {
    const { deliver, heard, inbox, worker } = await plaidWith({ record: success })
    await deliver(hint)
    await deliver(hint)
    expect(heard).toEqual([`${approved} by api`])
    const { entries } = (await inbox?.find({})) ?? {}
    expect(entries?.map(({ state }) => state)).toEqual(['done', 'done'])
    await inbox?.replay(entries?.[0]?.id ?? '')
    await worker?.runOnce()
    expect(heard).toHaveLength(2)
  })

  test('which decision replaces which, by its own time', async () => {
    const { deliver, receiver } = await plaidWith({ record: success }, { record: failure })
    const reversed = vi.fn()
    receiver.on('verification.reversed', ({ decision, supersedes, occurredAt }) => {
      reversed(decision, supersedes.name, supersedes.occurredAt, occurredAt)
    })
    await deliver(hint)
    await deliver(hint)
    const times = ['2026-01-28T15:00:39Z', '2026-01-29T15:00:39Z'].map((time) => new Date(time))
    expect(reversed.mock.calls).toEqual([[rejected, approved, ...times]])
  })

  test('that a read is late, where a newer decision was handled before', async () => {
    const { deliver, receiver } = await plaidWith({ record: failure }, { record: success })
    const late: unknown[] = []
    receiver.on('verification.approved', (_, { stale }) => void late.push(stale))
    await deliver(hint)
    await deliver(hint)
    expect(late).toEqual([true])
  })
})

test("a stale event is refetched from the vendor's record", async () => {
  const stripe = vendors.stripeIdentity()
  const record = { ...recordOf(stripe, approved), client_reference_id: 'user-9' }
  const api = await vendorApi({ record })
  const vendor = vendors.stripeIdentity({ api: { token: 'the-token', baseUrl: api.baseUrl } })
  const { receiver, deliver } = receiving(vendor, { store: memoryStore() })
  const heard: unknown[] = []
  receiver.on('verification.submitted', ({ data }) => void heard.push(data), { stale: 'refetch' })
  const bodyOf = (name: string) => stripe.fixtures.find((one) => one.name === name)?.body
  await deliver(bodyOf('verification.approved'))
  await deliver({ ...bodyOf('verification.submitted'), id: 'evt_late', created: 1_769_500_000 })
  expect(heard).toMatchObject([{ clientId: 'user-9', status: 'approved' }])
})

test('a token is asked for once, and again after a 401', async () => {
  const smile = makers.smileId?.() as Vendor
  const record = recordOf(smile, approved)
  const api = await vendorApi({ record }, { record }, { status: 401 }, { record })
  const { deliver } = receiving(
    makers.smileId?.({ ...credentials, baseUrl: api.baseUrl }) as Vendor,
  )
  const kinds: string[] = []
  for (const _ of [1, 2, 3, 4]) kinds.push(await deliver(hintOf(smile)))
  expect(kinds).toEqual(['handled', 'handled', 'failed', 'handled'])
  expect(api.loggedIn).toHaveLength(2)
})

test('a request to Yoti is signed with the private key', async () => {
  const yoti = makers.yoti?.() as Vendor
  const api = await vendorApi({ record: recordOf(yoti, approved) })
  const { deliver } = receiving(makers.yoti?.({ ...credentials, baseUrl: api.baseUrl }) as Vendor)
  await deliver(hintOf(yoti))
  const [{ method, url, headers } = {}] = api.asked
  const digest = String(headers?.['x-yoti-auth-digest'])
  const verifier = createVerify('RSA-SHA256').update(`${method}&${url}`)
  expect(verifier.verify(yotiKey, digest, 'base64')).toBe(true)
})

describe('accept', () => {
  const ondato = vendors.ondato({ allow: ['203.0.113.9'], proxies: 0 })
  const unsigned = ondato.fixtures.find(({ name }) => name === approved)?.body
  const signed = vendors.onfido()
  const run = signed.fixtures.find(({ name }) => name === approved)?.body
  const own = 'onfido.workflow_run.completed'

  test.each<readonly [readonly DecidedBy[] | undefined, string]>([
    [undefined, 'ondato.KycIdentification.Approved'],
    [['signed'], 'ondato.KycIdentification.Approved'],
    [['unsigned'], `${approved} by unsigned`],
    [['signed', 'api', 'unsigned'], `${approved} by unsigned`],
  ])('%j of a decision that no signature covers', async (accept, expected) => {
    const { heard, deliver } = receiving(ondato, accept && { accept })
    await deliver(unsigned)
    expect(heard).toEqual([expected])
  })

  test.each<readonly [readonly DecidedBy[] | undefined, string]>([
    [undefined, `${approved} by signed`],
    [['signed'], `${approved} by signed`],
    [['api'], own],
  ])('%j of a signed decision', async (accept, expected) => {
    const { heard, deliver } = receiving(signed, accept && { accept })
    await deliver(run)
    expect(heard).toEqual([expected])
  })

  test("['api'] confirms a signed decision", async () => {
    const runs = signed.decisions?.find(({ hints }) => hints === undefined)
    const record = runs?.fixtures.find(({ name }) => name === rejected)?.body
    const api = await vendorApi({ record })
    const vendor = vendors.onfido({ api: { token: 'the-token', baseUrl: api.baseUrl } })
    const { heard, deliver } = receiving(vendor, { accept: ['api'] })
    await deliver(run)
    expect(heard).toEqual([`${rejected} by api`])
  })

  test("['signed'] reads nothing, and leaves a hint as it is", async () => {
    const api = await vendorApi({ record: success })
    const vendor = vendors.plaid({ api: { ...credentials, baseUrl: api.baseUrl } })
    const { heard, deliver } = receiving(vendor, { accept: ['signed'] })
    await deliver(hint)
    expect([heard, api.asked]).toEqual([['plaid.STATUS_UPDATED'], []])
  })

  test('a decision that is left out is without its status, and a warning names the fix', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
    onTestFinished(() => warned.mockRestore())
    const { receiver, deliver } = receiving(ondato)
    const data: unknown[] = []
    receiver.on('*', (event) => void data.push(event.data))
    await deliver(unsigned)
    expect(data).toEqual([expect.not.objectContaining({ status: 'approved' })])
    expect(warned.mock.calls.join()).toContain("add 'unsigned' to accept")
  })

  test.each([
    [{ accept: [] }, "accept must list 'signed'"],
    [{ accept: ['signd'] }, "accept must list 'signed'"],
    [{ accept: 'api' }, "accept must list 'signed'"],
    [{ accept: ['api'], vendor: undefined }, 'pass vendor too'],
  ])('%j is rejected', (options, message) => {
    const given = { secret: 'a-secret-of-thirty-two-characters', vendor: signed, ...options }
    expect(() => createReceiver(given as never)).toThrow(message)
    expect(() => parse({} as never, options as never)).toThrow()
  })
})

describe('api', () => {
  test.each([
    [{ secret: 'x' }, 'api of plaid needs clientId, got undefined'],
    [{ clientId: 'me', secret: ' ' }, 'api of plaid needs secret, got a string'],
    [{ ...credentials, baseUrl: 'plaid.com' }, 'baseUrl must be an http address'],
    [{ ...credentials, fetch: 'fetch' }, 'fetch must be a function'],
    [{ ...credentials, timeout: 0 }, 'timeout must be a whole number'],
    [{ ...credentials, tokn: 'x' }, "has no option 'tokn'. Did you mean 'token'?"],
  ])('%j is rejected', (api, message) => {
    expect(() => vendors.plaid({ api: api as never })).toThrow(message)
  })

  test('Yoti needs its private key', () => {
    const api = { clientId: 'me', secret: 'no key' }
    expect(() => vendors.yoti({ api })).toThrow('the private key as PEM')
  })

  test.each(['..', '.', 'a/../b', 'a?b#c'])('an id cannot lead elsewhere: %s', async (id) => {
    const api = await vendorApi({ status: 404 })
    const vendor = vendors.onfido({ api: { token: 'the-token', baseUrl: api.baseUrl } })
    const { deliver } = receiving(vendor)
    const body = hintOf(vendor) as { payload: { object: object } }
    const { payload } = body
    await deliver({ payload: { ...payload, object: { ...payload.object, id } } })
    const [asked] = api.asked
    expect(asked?.url ?? `/checks/${encodeURIComponent(id)}`).toBe(
      `/checks/${encodeURIComponent(id)}`,
    )
    expect(api.asked).toHaveLength(/^\.+$/.test(id) ? 0 : 1)
  })

  test('a vendor of your own has its API too', async () => {
    const { fixtures, ...own } = vendors.onfido()
    const [decision] = own.decisions ?? []
    const record = decision?.fixtures.find(({ name }) => name === approved)?.body
    const api = await vendorApi({ record })
    const vendor = defineVendor(
      { ...own, fixtures, title: 'Mine' },
      { token: 'the-token', baseUrl: api.baseUrl },
    )
    const { heard, deliver } = receiving(vendor)
    await deliver(hintOf(vendor))
    expect(heard).toEqual([`${approved} by api`])
  })
})
