import { createReceiver, createWorker } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { createSandbox } from 'idv-webhooks/sandbox'
import { defineVendor, type Vendor, vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'
import { secretFor, vendorsByHand } from './by-hand.ts'
import { everyVendor } from './every-vendor.ts'
import { applicationHandlers } from './handlers.ts'

const secret = 'a-secret-of-thirty-two-characters'
const address = '203.0.113.9'
// What signs nothing is known by the address of the sandbox.
const all = everyVendor({ allow: [address], proxies: 0 })
const hasPublicKey = ({ scheme }: Vendor) =>
  ['ed25519', 'es256', 'rs256'].includes(scheme.algorithm)
const rehearsed = all.filter((vendor) => !hasPublicKey(vendor))

/** The application, with the vendor as its one line that differs. */
function application(vendor: Vendor | undefined, key: string = secret) {
  const inbox = createInbox({ store: memoryStore() })
  onTestFinished(() => inbox.close())
  const authenticity = vendor?.scheme.authenticity ?? 'signature'
  const receiver = createReceiver({
    secret: authenticity === 'ip' ? undefined : vendor ? secretFor(vendor.scheme, key) : key,
    inbox,
    authenticity,
    ...(vendor && { vendor }),
  })
  return { receiver, heard: applicationHandlers(receiver), worker: createWorker(receiver) }
}

async function rehearsal(vendor: Vendor | undefined) {
  const sandbox = await createSandbox({
    seed: 'dialects',
    secret,
    ...(vendor && { vendor }),
    fetch: (request) => take(request),
    subscriptions: [{ url: 'http://receiver.test/webhooks' }],
  })
  onTestFinished(() => sandbox.close())
  // The requests to Yoti are signed by its preset alone.
  const signing = vendor?.name === 'yoti' && vendors.yoti({ api: sandbox.api })
  const reading = signing || (vendor?.decisions ? defineVendor(vendor, sandbox.api) : vendor)
  const { receiver, heard, worker } = application(reading)
  const take = toFetch(receiver, { address: () => address })
  const answer = await sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': sandbox.apiKey },
    body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
  })
  const { id } = (await answer.json()) as { id: string }
  const settle = async () => {
    await sandbox.flush()
    const failed = sandbox.deliveries.list().filter(({ status }) => status !== 'delivered')
    expect(failed).toEqual([])
    await worker.runOnce()
  }
  return { sandbox, heard, id, settle }
}

/** The names that a vendor's events have, by themselves or by its API. */
function namesOf(vendor: Vendor | undefined): readonly unknown[] | undefined {
  const read = vendor?.decisions?.filter(({ hints }) => hints)
  return (
    vendor && [vendor, ...(read ?? [])].flatMap(({ fixtures }) => fixtures.map(({ name }) => name))
  )
}

const senders: readonly (readonly [name: string, vendor: Vendor | undefined])[] = [
  ['the service itself', undefined],
  ...rehearsed.map((vendor) => [vendor.name, vendor] as const),
]

test.each(senders)(
  'the same handlers hear a verification in the words of %s',
  async (_, vendor) => {
    const { sandbox, heard, id, settle } = await rehearsal(vendor)
    await sandbox.act(id, ['start', 'submit', 'approve'])
    await settle()
    const names = namesOf(vendor)
    const has = (name: string) => !names || names.includes(name)
    const told = [
      ...(has('verification.created') ? [`verification.created ${id} initiated`] : []),
      ...(has('verification.submitted') ? [`verification.submitted ${id} submitted`] : []),
      ...(has('verification.approved') ? [`open the account of ${id} approved`] : []),
    ]
    expect(heard).toEqual(told)
  },
)

test.each(senders)('the same handlers hear a decision taken back by %s', async (_, vendor) => {
  const { sandbox, heard, id, settle } = await rehearsal(vendor)
  await sandbox.act(id, ['start', 'submit', 'approve'])
  await settle()
  sandbox.clock.advance({ seconds: 60 })
  await sandbox.act(id, ['reject'], { force: true })
  await settle()
  const names = namesOf(vendor) ?? ['verification.rejected']
  const refused = heard.filter((line) => line.startsWith('refuse'))
  const reversals = heard.filter((line) => line.startsWith('take back'))
  const mayReverse = vendor?.finality.reversible.includes('verification.approved') ?? false
  if (!names.includes('verification.rejected')) expect(refused).toEqual([])
  else expect(refused).toEqual([`refuse ${id} rejected${mayReverse ? ', again' : ''}`])
  expect(reversals).toEqual(
    mayReverse ? [`take back verification.approved of ${id} for verification.rejected`] : [],
  )
})

test.each(all.filter(hasPublicKey).map((vendor) => [vendor.name, vendor] as const))(
  'the same handlers hear %s, which signs with a key pair',
  async (name, vendor) => {
    const vector = vendorsByHand[name]
    const { receiver, heard, worker } = application(vendor, vector?.secret)
    for (const fixture of vendor.fixtures) {
      const body = Buffer.from(JSON.stringify(fixture.body))
      const at = Math.floor(Date.now() / 1000) * 1000
      const headers = vector?.headers({ body, at, id: 'msg_1', url: '' }) ?? {}
      expect(await receiver.receive({ body, headers })).toMatchObject({ kind: 'accepted' })
    }
    await worker.runOnce()
    expect(heard).toHaveLength(vendor.fixtures.length)
    expect(heard.every((line) => line.startsWith(`look up ${name}.`))).toBe(true)
  },
)

test('a vendor that accepts only 200 repeats after any other status', async () => {
  for (const vendor of all.filter((one) => one.name === 'veriff' || one.name === 'didit')) {
    const sandbox = await createSandbox({
      seed: 'replies',
      secret,
      vendor,
      fetch: async () => new Response(null, { status: 204 }),
      subscriptions: [{ url: 'http://receiver.test/webhooks', events: ['verification.created'] }],
    })
    onTestFinished(() => sandbox.close())
    await sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': sandbox.apiKey },
      body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
    })
    await sandbox.flush()
    const told = sandbox.deliveries.list().map(({ status }) => status)
    expect(told, vendor.name).toEqual([vendor.name === 'veriff' ? 'pending' : 'delivered'])
  }
})
