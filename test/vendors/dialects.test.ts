import { createReceiver } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createSandbox } from 'idv-webhooks/sandbox'
import { type Vendor, vendors } from 'idv-webhooks/vendors'
import { expect, test } from 'vitest'

const signing: readonly Vendor[] = [
  ...[vendors.onfido(), vendors.persona(), vendors.veriff(), vendors.sumsub(), vendors.idenfy()],
  ...[vendors.stripeIdentity(), vendors.trulioo(), vendors.vouched(), vendors.didit()],
]

/** The same handlers for every vendor. */
function handlers(vendor: Vendor | undefined, secret: string, heard: string[]) {
  const receiver = createReceiver({ secret, ...(vendor && { vendor }) })
  receiver.on(['verification.created', 'verification.submitted'], (event) => {
    heard.push(`${event.name} ${event.data.id} ${event.data.status}`)
  })
  receiver.on(['verification.approved', 'verification.rejected'], (event, context) => {
    heard.push(`${event.name} ${event.data.id} ${event.data.status}`)
    expect(context.authenticity).toBe('signature')
    expect(event.vendor).toBe(vendor?.name)
    expect(event.issues).toBeUndefined()
  })
  return receiver
}

const senders: readonly (readonly [name: string, vendor: Vendor | undefined])[] = [
  ['the service itself', undefined],
  ...signing.map((vendor) => [vendor.name, vendor] as const),
]

test.each(senders)('the same handlers hear an approval in the words of %s', async (_, vendor) => {
  const heard: string[] = []
  const secret = 'a-secret-of-thirty-two-characters'
  const sandbox = await createSandbox({
    seed: 'dialects',
    secret,
    ...(vendor && { vendor }),
    fetch: toFetch(handlers(vendor, secret, heard)),
    subscriptions: [{ url: 'http://receiver.test/webhooks' }],
  })
  const answer = await sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': sandbox.apiKey },
    body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
  })
  const { id } = (await answer.json()) as { id: string }
  await sandbox.act(id, ['start', 'submit', 'approve'])
  await sandbox.flush()
  expect(heard.at(-1)).toBe(`verification.approved ${id} approved`)
  const names = vendor ? vendor.fixtures.map(({ name }) => name) : undefined
  const sent = ['verification.created', 'verification.submitted', 'verification.approved']
  expect(heard.map((line) => line.split(' ', 1)[0])).toEqual(
    sent.filter((name) => !names || names.some((one) => one === name)),
  )
  const failed = sandbox.deliveries.list().filter(({ status }) => status !== 'delivered')
  expect(failed).toEqual([])
  await sandbox.close()
})

test('a vendor whose private key nobody has is refused', async () => {
  await expect(createSandbox({ vendor: vendors.plaid() })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
  })
})
