// A repeat after an outage: signed again where the scheme states a time, as its vendors do.
import { createReceiver, type Observation, schemes } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createSandbox } from 'idv-webhooks/sandbox'
import { defineVendor, type Vendor, vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'

const secret = 'a-secret-of-thirty-two-characters'
const began = Date.parse('2026-01-01T00:00:00Z')

/** The application answers 500 for 15 minutes of the sandbox's time; returns what was sent. */
async function outage(vendor: Vendor | undefined, key = secret) {
  const seen: Observation[] = []
  const receiver = createReceiver({
    secret: key,
    ...(vendor && { vendor }),
    now: () => sandbox.clock.now(),
    observe: (one) => seen.push(one),
  })
  receiver.fallback(() => {})
  const receive = toFetch(receiver)
  const isDown = () => sandbox.clock.now().getTime() < began + 15 * 60_000
  const sandbox = await createSandbox({
    seed: 'outage',
    now: new Date(began).toISOString(),
    ...(vendor && { vendor }),
    subscriptions: [{ url: 'http://app.test/webhooks', secret: key }],
    fetch: async (request) => (isDown() ? new Response('', { status: 500 }) : receive(request)),
  })
  onTestFinished(() => sandbox.close())
  const answer = await sandbox.fetch(
    new Request(`${sandbox.baseUrl}/verifications`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': sandbox.apiKey },
      body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
    }),
  )
  const { id } = (await answer.json()) as { id: string }
  await sandbox.act(id, ['start', 'submit', 'approve'])
  await sandbox.flush()
  await sandbox.clock.advance({ seconds: 16 * 60 })
  await sandbox.clock.advance({ days: 8 })
  await sandbox.flush()
  const sent = sandbox.deliveries.list().map((one) => sandbox.deliveries.get(one.id))
  const outcomes = seen.flatMap((one) => (one.type === 'outcome' ? [one.code ?? one.kind] : []))
  return { sandbox, sent, outcomes }
}

const stated = [vendors.stripeIdentity(), vendors.persona()]

test.each(stated.map((vendor) => [vendor.name, vendor] as const))(
  'a repeat by %s has a signature with its own time, and arrives after an outage',
  async (_, vendor) => {
    const { sandbox, sent, outcomes } = await outage(vendor)
    expect(new Set(outcomes)).toEqual(new Set(['handled']))
    expect(new Set(sent.map((one) => one?.status))).toEqual(new Set(['delivered']))
    for (const one of sent) {
      const { attempts = [], body } = one ?? {}
      expect(attempts.length).toBeGreaterThan(1)
      for (const { at, request } of attempts) {
        const time = /(?:^|,)t=(\d+)/.exec(
          request.headers[vendor.scheme.header.toLowerCase()] ?? '',
        )
        expect(Number(time?.[1])).toBe(Math.floor(Date.parse(at) / 1000))
        expect(request.body).toBe(body)
      }
    }
    // A snapshot shows them as they were sent.
    const { webhooks } = sandbox.snapshot()
    expect(
      webhooks.deliveries.map(({ attempts }) => attempts.map(({ request }) => request)),
    ).toEqual(sent.toReversed().map((one) => one?.attempts.map(({ request }) => request)))
  },
)

test('a repeat by a scheme with an id and a time has the same id', async () => {
  const vendor = defineVendor({ ...vendors.persona(), scheme: schemes.standardWebhooks() })
  const { sent, outcomes } = await outage(vendor, `whsec_${btoa(secret)}`)
  expect(new Set(outcomes)).toEqual(new Set(['handled']))
  for (const one of sent) {
    const headers = one?.attempts.map(({ request }) => request.headers) ?? []
    expect(new Set(headers.map((each) => each['webhook-id']))).toEqual(new Set([one?.eventId]))
    expect(new Set(headers.map((each) => each['webhook-timestamp'])).size).toBe(headers.length)
  }
})

test.each([['the service itself', undefined] as const, ['onfido', vendors.onfido()] as const])(
  'a repeat by %s, whose scheme states no time, has the signature of the first attempt',
  async (_, vendor) => {
    const { sent, outcomes } = await outage(vendor)
    expect(new Set(outcomes)).toEqual(new Set(['handled']))
    for (const one of sent) {
      const requests = one?.attempts.map(({ request }) => JSON.stringify(request)) ?? []
      expect(requests.length).toBeGreaterThan(1)
      expect(new Set(requests).size).toBe(1)
    }
  },
)

test.each([
  ['a vendor that signs a time', 'TIMESTAMP_OUTSIDE_TOLERANCE', vendors.stripeIdentity()],
  ['the service, which signs none', 'handled', undefined],
])('a stale replay has the time that was recorded: %s', async (_, replayed, vendor) => {
  const outcomes: string[] = []
  const receiver = createReceiver({
    secret,
    ...(vendor && { vendor }),
    now: () => sandbox.clock.now(),
    observe: (one) => {
      if (one.type === 'outcome') outcomes.push(one.code ?? one.kind)
    },
  })
  receiver.fallback(() => {})
  const sandbox = await createSandbox({
    seed: 'recorded',
    ...(vendor && { vendor }),
    subscriptions: [{ url: 'http://app.test/webhooks', secret }],
    fetch: toFetch(receiver),
  })
  onTestFinished(() => sandbox.close())
  sandbox.faults.set([{ kind: 'stale-replay', times: 1 }])
  await sandbox.fetch(
    new Request(`${sandbox.baseUrl}/verifications`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': sandbox.apiKey },
      body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
    }),
  )
  await sandbox.flush()
  await sandbox.clock.advance({ seconds: 86_401 })
  expect(outcomes.slice(0, 2)).toEqual(['handled', replayed])
})
