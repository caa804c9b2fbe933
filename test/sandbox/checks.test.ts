import { afterEach, describe, expect, test } from 'vitest'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { minimal } from './conformance-rows.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function fresh(options: SandboxOptions = {}) {
  const sandbox = await openSandbox({
    fetch: async () => new Response('thanks'),
    subscriptions: [{ url: 'http://a.test/' }],
    ...options,
  })
  closing.push(() => sandbox.close())
  return { sandbox, call: caller(sandbox.url, sandbox.fetch) }
}

describe('a snapshot is checked whole:', () => {
  const spoilings: readonly (readonly [field: string, (snapshot: Json) => void])[] = [
    ['faults.0.fault', (one) => (one.faults = [{}])],
    ['random', (one) => (one.random = {})],
    ['clock.now', (one) => (one.clock.now = '+275760-09-13T00:00:00.000Z')],
    ['clock.now', (one) => (one.clock.now = '9999-12-31T00:00:00.000Z')],
    ['clock.offset', (one) => (one.clock = { frozen: false, now: one.clock.now })],
    ['clock.offset', (one) => (one.clock.offset = 1e300)],
    ['seed', (one) => delete one.seed],
    ['secret', (one) => (one.secret = 'has space')],
    ['state.rates.org_acme', (one) => (one.state.rates = { org_acme: 1 })],
    ['state.verifications.0.completed', (one) => delete one.state.verifications[0].completed],
    [
      'state.verifications.0.resource.expiresAt',
      (one) => (one.state.verifications[0].resource.expiresAt = 'soon'),
    ],
    ['state.clients.0.resource', (one) => (one.state.clients = [{}])],
    ['state.keys.0.key', (one) => delete one.state.keys[0].key],
    ['state.outbox.0.id', (one) => (one.state.outbox = [{}])],
    ['webhooks.deliveries.0.id', (one) => (one.webhooks.deliveries = [{}])],
    ['webhooks.deliveries.0.body', (one) => (one.webhooks.deliveries[0].body = '{}')],
    ['webhooks.subscriptions.0.url', (one) => (one.webhooks.subscriptions[0].url = 'not a url')],
    ['webhooks.subscriptions.0.events.0', (one) => (one.webhooks.subscriptions[0].events = ['x'])],
  ]

  test.each(spoilings)(
    'a snapshot with a wrong %s is rejected by that name and changes nothing',
    async (field, spoil) => {
      const { sandbox, call } = await fresh()
      const { body } = await call('POST', '/v2/api/verifications', { body: minimal })
      const before = sandbox.snapshot()
      const broken = structuredClone(before) as Json
      spoil(broken)
      const refused = await call('PUT', '/_sandbox/snapshot', { body: broken })
      expect(refused.status).toBe(422)
      expect(refused.body.errors.map((one: Json) => one.field)).toContain(field)
      expect(() => sandbox.restore(broken)).toThrow(
        expect.objectContaining({
          code: 'OPTION_INVALID',
          message: expect.stringContaining(field),
        }),
      )
      expect(sandbox.snapshot()).toEqual(before)
      expect((await call('GET', `/v2/api/verifications/${body.id}`)).status).toBe(200)
    },
  )

  test('a snapshot of another seed brings its own dice', async () => {
    const drops = async (sandbox: Json, call: ReturnType<typeof caller>) => {
      for (let at = 0; at < 20; at++) await call('POST', '/v2/api/clients', { body: {} })
      return sandbox.deliveries.list().map(({ status }: Json) => status)
    }
    const { sandbox, call } = await fresh()
    sandbox.faults.set([{ kind: 'drop', probability: 0.5 }])
    const snapshot = sandbox.snapshot()
    const told = await drops(sandbox, call)
    const other = await fresh({ seed: 99 })
    other.sandbox.restore(snapshot)
    expect(await drops(other.sandbox, other.call)).toEqual(told)
    expect([new Set(told).size, other.sandbox.seed]).toEqual([2, 7])
    other.sandbox.reset()
    expect(other.sandbox.seed).toBe(99)
  })
})

describe('a call is checked as the request that does the same:', () => {
  const misused = expect.objectContaining({ code: 'OPTION_INVALID' })

  test('calls of subscriptions are checked like their requests', async () => {
    const { sandbox } = await fresh()
    const { subscriptions } = sandbox.deliveries
    const [before] = subscriptions.list()
    const id = String(before?.id)
    const patch = { events: ['nonsense'], url: 'not a url' }
    expect(() => subscriptions.update(id, patch)).toThrow(/update: url .*events\.0/)
    expect(() => subscriptions.rotateSecret(id, { secret: '' })).toThrow(misused)
    expect(() => subscriptions.rotateSecret(id, { overlapSeconds: -1 })).toThrow(misused)
    expect(() => subscriptions.create({ url: 'ftp://x/' })).toThrow(misused)
    const nobody = { url: 'http://x/', organizationId: 'org_nobody' }
    expect(() => subscriptions.create(nobody)).toThrow(
      /organizationId must be the id of an organization/,
    )
    expect(subscriptions.list()).toEqual([before])
    expect(subscriptions.update('nobody', {})).toBeUndefined()
  })

  test('calls of act() are checked like their requests', async () => {
    const { sandbox, call } = await fresh()
    const { id } = (await call('POST', '/v2/api/verifications', { body: minimal })).body
    for (const actions of ['nonsense', [], null, [null], { action: 'x' }, 7]) {
      await expect(sandbox.act(id, actions as never)).rejects.toThrow(misused)
    }
    const actions = { action: 'submit', step: 'nothing' } as never
    await expect(sandbox.act(id, actions)).rejects.toThrow(/^act: actions\.0/)
  })

  test('filters of deliveries are checked like their requests', async () => {
    const { sandbox } = await fresh()
    expect(() => sandbox.deliveries.list({ status: 'nonsense' as never })).toThrow(
      /deliveries\.list: status/,
    )
    expect(() => sandbox.deliveries.resendAll({ status: 'x' as never })).toThrow(misused)
  })

  test('a fault of no kind is told its form, and the kinds', async () => {
    const { sandbox, call } = await fresh()
    const faults = [{ fault: 'tampered' }, { kind: 'tamperd' }, {}, 'drop'] as never
    expect(() => sandbox.faults.set(faults)).toThrow(misused)
    const { status, body } = await call('PUT', '/_sandbox/faults', { body: { faults } })
    expect(status).toBe(422)
    const fields = body.errors.map(({ field }: Json) => field)
    expect(fields).toEqual(['faults.0.kind', 'faults.1.kind', 'faults.2.kind', 'faults.3'])
    expect(body.errors[1].message).toMatch(
      /^must be a kind of fault.* Did you mean 'tampered'\? Known kinds: duplicate, .*, slow$/,
    )
  })
})
