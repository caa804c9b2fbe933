// A sandbox that plays a vendor: its preset by name, and the keys with which it signs.
import { createReceiver, schemes } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { publicKey } from 'idv-webhooks/keys'
import { createSandbox } from 'idv-webhooks/sandbox'
import { recordHandlers } from 'idv-webhooks/testing'
import { defineVendor, type Vendor, vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'

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

const create = (sandbox: Awaited<ReturnType<typeof createSandbox>>) =>
  sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': sandbox.apiKey },
    body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
  })
