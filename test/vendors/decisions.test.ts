// Decisions behind a vendor's API: each hint is completed there before its handlers run. The API is
// a real server on loopback.
import { type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { readVendorEvent, type Vendor } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { VendorFixture } from '../../src/protocol/vendor.ts'
import { decisionOf } from '../../src/vendors/reading.ts'
import { temporaryFile } from '../inbox/temporary.ts'
import { type Api, at, credentials, hintOf, makers, receiving, recordOf } from './deciding.ts'
import { type Answer, type Asked, vendorApi } from './vendor-api.ts'

const stores: readonly (readonly [name: string, make: () => InboxStore | undefined])[] = [
  ['without an inbox', () => undefined],
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
]

const withStore = (make: () => InboxStore | undefined) => {
  const store = make()
  return store ? { store } : {}
}

/** The states that a record has before its hint is sent. */
const tooOld: Readonly<Record<string, RegExp>> = {
  onfido: /"in_progress"/,
  smileId: /"processing"/,
  stripeIdentity: /"(?:requires_input|processing)"/,
  truora: /"pending"/,
  yoti: /"ONGOING"/,
}

describe.each(Object.keys(makers))('%s', (name) => {
  const make = makers[name] as (api?: Api) => Vendor
  const plain = make()
  const hint = hintOf(plain)
  const own = readVendorEvent(plain, hint)?.name
  const decision = decisionOf(plain, hint)?.decision
  const fixtures = decision?.fixtures ?? []

  describe.each(stores)('%s', (_, makeStore) => {
    const isOld = ({ name: decided, body }: VendorFixture) =>
      decided === undefined && tooOld[name]?.test(JSON.stringify(body)) === true
    const old = fixtures.filter(isOld)
    const current = fixtures.filter((one) => !isOld(one))
    test.each(current.map((one) => [one.name ?? 'no decision', one] as const))(
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
      ['a page', { status: 200, text: '<html>' }],
      ['another record', { record: {} }],
      ...old.map(({ body }) => ['a record that is too old', { record: body }] as const),
    ])('after %s the read is repeated', async (_, answer) => {
      const api = await vendorApi(answer)
      const vendor = make({ ...credentials, baseUrl: api.baseUrl })
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

  test('a wait ends with the decision that handlers got, and the entry has its name', async () => {
    const api = await vendorApi({ record: recordOf(plain, 'verification.approved') })
    const vendor = make({ ...credentials, baseUrl: api.baseUrl })
    const { deliver, inbox } = receiving(vendor, { store: sqliteStore(temporaryFile()) })
    await deliver(hint)
    const [entry] = (await inbox?.find({}))?.entries ?? []
    expect(entry?.name).toBe('verification.approved')
    const options = { timeout: 0, since: new Date(at) }
    const decision = entry?.entity && (await inbox?.waitFor(entry.entity, options))
    const { name: approved } = entry ?? {}
    expect(decision).toMatchObject({ name: approved, known: true, decidedBy: 'api' })
    expect(api.asked).toHaveLength(1)
    // A replay asks the API again.
    await inbox?.replay(entry?.id ?? '')
    await deliver({ ...Object(hint), again: true })
    expect(api.asked.length).toBeGreaterThan(1)
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
    expect([...api.loggedIn, ...api.asked].map(shownRequest)).toMatchSnapshot()
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

const documented = [
  'authorization',
  'truora-api-key',
  'content-type',
  'smileid-token',
  'x-yoti-auth-digest',
]
const varying = /nonce=[\w-]+&timestamp=\d+|(?<=yoti-auth-digest: ).*/g

/** The parts of a request that its vendor documents, without what differs each time. */
function shownRequest({ method, url, headers, body }: Asked): string {
  const sent = Object.entries(headers).filter(
    ([name]) => documented.includes(name) || /^smileid/.test(name),
  )
  const lines = sent.map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${url}`, ...lines, body].join('\n').replaceAll(varying, '…')
}
