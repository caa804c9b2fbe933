// Decisions behind a vendor's API: each hint is completed there before its handlers run. The API is
// a real server on loopback.
import { createReceiver, createWorker, type ReceiverOptions } from 'idv-webhooks'
import { createInbox, type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { type Vendor, type VendorApi, vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { decisionOf } from '../../src/protocol/vendor.ts'
import { temporaryFile } from '../inbox/temporary.ts'
import { secretFor, vendorsByHand } from './by-hand.ts'
import { type Answer, vendorApi } from './vendor-api.ts'

const at = Date.UTC(2026, 4, 1, 12)
const url = 'https://app.test/webhooks'
const credentials = { token: 'the-token', key: 'the-key', secret: 'the-secret', clientId: 'me' }

type Api = VendorApi & typeof credentials

/** Every vendor whose API has decisions. */
const makers: Readonly<Record<string, (api?: Api) => Vendor>> = {
  plaid: (api) => vendors.plaid(api && { api }),
  stripeIdentity: (api) => vendors.stripeIdentity(api && { api }),
}

function hintOf(vendor: Vendor) {
  const hint = vendor.fixtures.find(({ body }) => decisionOf(vendor, body)?.isHint)
  if (!hint) throw new TypeError(`${vendor.name} has no example of a hint`)
  return hint.body
}

const recordOf = (vendor: Vendor, name: string | undefined) => {
  const decision = decisionOf(vendor, hintOf(vendor))?.decision
  return decision?.fixtures.find((one) => one.name === name)?.body
}

function deliveryOf(vendor: Vendor, value: unknown) {
  const body = Buffer.from(JSON.stringify(value))
  const headers = vendorsByHand[vendor.name]?.headers({ body, at, id: 'msg_1', url }) ?? {}
  return { body, headers, url }
}

/** A receiver of a vendor, with all that its handlers heard. */
function receiving(
  vendor: Vendor,
  options: Partial<ReceiverOptions> & { store?: InboxStore } = {},
) {
  const { store, ...more } = options
  const clock = { at }
  const now = () => new Date(clock.at)
  const { authenticity } = vendor.scheme
  const secret = secretFor(vendor.scheme, vendorsByHand[vendor.name]?.secret ?? '')
  const inbox = store && createInbox({ store, now, retry: { delays: [1000] } })
  if (inbox) onTestFinished(() => inbox.close())
  const given = { vendor, secret, authenticity, now: () => new Date(at), observe: () => {} }
  const receiver = createReceiver({ ...given, ...(inbox && { inbox }), ...more } as ReceiverOptions)
  const heard: string[] = []
  receiver.on('verification.*', ({ name, decidedBy }) => void heard.push(`${name} by ${decidedBy}`))
  receiver.fallback(({ name }) => void heard.push(name))
  const worker = inbox && createWorker(receiver)
  const deliver = async (value: unknown) => {
    const outcome = await receiver.receive(deliveryOf(vendor, value))
    await worker?.runOnce()
    return outcome.kind
  }
  /** Lets the next attempt be due. */
  const later = async (ms = 1000) => {
    clock.at += ms
    return await worker?.runOnce()
  }
  return { receiver, inbox, worker, heard, deliver, later, clock }
}

const stores: readonly (readonly [name: string, make: () => InboxStore | undefined])[] = [
  ['without an inbox', () => undefined],
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
]

const withStore = (make: () => InboxStore | undefined) => {
  const store = make()
  return store ? { store } : {}
}

describe.each(Object.keys(makers))('%s', (name) => {
  const make = makers[name] as (api?: Api) => Vendor
  const plain = make()
  const hint = hintOf(plain)
  const own = `${name}.${vendors && String(nameIn(plain, hint))}`
  const decision = decisionOf(plain, hint)?.decision
  const fixtures = decision?.fixtures ?? []

  describe.each(stores)('%s', (_, makeStore) => {
    test.each(fixtures.map((one) => [one.name ?? 'no decision yet', one] as const))(
      'a record with %s',
      async (_, { name: decided, body }) => {
        const api = await vendorApi({ record: body })
        const vendor = make({ ...credentials, baseUrl: api.baseUrl })
        const { heard, deliver } = receiving(vendor, withStore(makeStore))
        expect(['handled', 'accepted']).toContain(await deliver(hint))
        expect(heard).toEqual([decided ? `${decided} by api` : own])
        expect(api.asked).toHaveLength(1)
      },
    )

    test.each<readonly [string, Answer]>([
      ['404', { status: 404 }],
      ['500', { status: 500, text: 'oops' }],
      ['401', { status: 401 }],
      ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }],
      ['a page', { status: 200, text: '<html>' }],
      ['another record', { record: {} }],
      ['silence', 'silence'],
    ])('after %s the read is repeated', async (_, answer) => {
      const api = await vendorApi(answer)
      const vendor = make({ ...credentials, baseUrl: api.baseUrl, timeout: 300 })
      const { heard, deliver, later } = receiving(vendor, withStore(makeStore))
      const kind = await deliver(hint)
      expect(heard).toEqual([])
      const approved = recordOf(vendor, 'verification.approved')
      api.answerWith({ record: approved })
      // Without an inbox the vendor sends it again.
      if (kind === 'accepted') await later()
      else expect([kind, await deliver(hint)]).toEqual(['failed', 'handled'])
      expect(heard).toEqual(['verification.approved by api'])
    })
  })

  test('no attempt comes earlier than the vendor asks', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: at })
    onTestFinished(() => void vi.useRealTimers())
    const pause = { status: 429, headers: { 'retry-after': '120' } }
    const api = await vendorApi(pause, { record: recordOf(plain, 'verification.approved') })
    const vendor = make({ ...credentials, baseUrl: api.baseUrl })
    const { heard, deliver, later, inbox } = receiving(vendor, { store: memoryStore() })
    await deliver(hint)
    const { entries } = (await inbox?.find({})) ?? {}
    expect(entries?.[0]).toMatchObject({ state: 'retry', dueAt: new Date(at + 120_000) })
    await later(119_999)
    expect(api.asked).toHaveLength(1)
    vi.setSystemTime(at + 120_000)
    await later(1)
    expect(heard).toEqual(['verification.approved by api'])
  })

  test('without api it keeps its own name, and a warning says once what completes it', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
    onTestFinished(() => warned.mockRestore())
    const { heard, deliver } = receiving(plain)
    await deliver(hint)
    await deliver(hint)
    expect(heard).toEqual([own, own])
    const texts = warned.mock.calls.map(([text]) => String(text))
    expect(texts.filter((text) => text.includes(`vendors.${name}({ api`))).toHaveLength(1)
  })

  test('the request is the documented one, and its credentials are shown nowhere', async () => {
    const api = await vendorApi({ record: fixtures[0]?.body })
    const vendor = make({ ...credentials, baseUrl: `${api.baseUrl}/` })
    const { deliver } = receiving(vendor)
    await deliver(hint)
    const [{ method, url: path, headers, body } = {}] = api.asked
    const { authorization, 'content-type': type } = headers ?? {}
    expect({ method, path, authorization, type, body }).toMatchSnapshot()
    expect(JSON.stringify(vendor)).toBe(JSON.stringify(plain))
  })

  test('context.fetch() gives the record of the vendor', async () => {
    const record = recordOf(plain, 'verification.approved')
    const api = await vendorApi({ record })
    const { receiver, deliver } = receiving(make({ ...credentials, baseUrl: api.baseUrl }))
    const fetched: unknown[] = []
    receiver.on('verification.approved', async (_, context) => {
      fetched.push(await context.fetch())
    })
    await deliver(hint)
    expect(fetched).toEqual([record])
  })
})

function nameIn(vendor: Vendor, body: unknown): unknown {
  const [path = ''] = vendor.reading.name
  return path
    .split('.')
    .reduce<unknown>((one, key) => (one as Record<string, unknown>)?.[key], body)
}
