import { createReceiver, createWorker } from 'idv-webhooks'
import { createClient } from 'idv-webhooks/client'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fakeClock, fixture, signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { clientOf, failure, openSandbox, start } from './client/service.ts'

const secret = 'a-secret-of-the-tests'
const input = { type: 'kyc', requirements: ['consent'] } as const

/** A sandbox, a receiver whose handlers ask it, and what was asked. */
function open() {
  const clock = fakeClock(start)
  const sandbox = openSandbox({ now: start })
  const asked: string[] = []
  const api = clientOf(sandbox, {
    limiter: false,
    fetch: (request) => {
      if (request.method === 'GET') asked.push(new URL(request.url).pathname)
      return sandbox.fetch(request)
    },
  })
  const receiver = createReceiver({ secret, client: api, now: clock.now })
  const deliver = async (event: string, id: string) =>
    receiver.receive({
      ...(await signedDelivery({ id: `evt_${event}`, event, data: { id } }, { secret })),
      receivedAt: clock.now(),
    })
  return { clock, sandbox, api, asked, receiver, deliver }
}

describe('context.fetch()', () => {
  test('context.fetch() returns the current state, whatever the event says', async () => {
    const { sandbox, api, receiver, deliver } = open()
    const got: unknown[] = []
    receiver.on('verification.*', async (event, { fetch }) => {
      got.push([event.name, (await fetch())?.status])
    })
    const { id } = await api.verifications.create(input)
    await sandbox.act(id, ['start', 'submit', 'approve'])
    await deliver('verification.approved', id)
    await deliver('request.submitted', id)
    await deliver('verification.created', id)
    expect(got).toEqual([
      ['verification.approved', 'approved'],
      ['verification.submitted', 'approved'],
      ['verification.created', 'approved'],
    ])
  })

  test('context.fetch() uses the client of the event’s tenant, never another one', async () => {
    const one = open()
    const { id } = await one.api.verifications.create(input)
    const other = open()
    const clients = new Map([
      ['one', one.api],
      ['other', other.api],
    ])
    const receiver = createReceiver({
      secret: ({ url = '' }) => ({ value: secret, tenant: url }),
      client: (tenant = '') => clients.get(tenant),
      observe: () => {},
    })
    const got: unknown[] = []
    receiver.on('*', async (_, { fetch, tenant }) => {
      got.push([tenant, (await fetch()) !== null])
    })
    const delivery = await signedDelivery(
      { id: 'evt_1', event: 'verification.approved', data: { id } },
      { secret },
    )
    const kinds: string[] = []
    for (const url of ['one', 'other', 'nobody']) {
      kinds.push((await receiver.receive({ ...delivery, url })).kind)
    }
    expect(kinds).toEqual(['handled', 'handled', 'failed'])
    expect(got).toEqual([
      ['one', true],
      ['other', false],
    ])
  })

  test('context.fetch() is null for a deleted client, soft-deleted or not', async () => {
    const { sandbox, api, receiver, deliver } = open()
    const got: unknown[] = []
    receiver.on('client.*', async (_, { fetch }) => got.push(await fetch()))
    const { id } = await api.clients.create()
    await deliver('client.created', id)
    await sandbox.fetch(new Request(`${sandbox.url}/_sandbox/clients/${id}`, { method: 'DELETE' }))
    const { receiver: again, deliver: late } = open()
    again.on('client.*', async (_, { fetch }) => got.push(await fetch()))
    await late('client.updated', 'gone-for-good')
    expect(got).toEqual([expect.objectContaining({ id, active: true }), null])
    expect((await api.clients.get(id)).active).toBe(false)
  })

  test('context.fetch() is null for a deleted client that can still be read', async () => {
    const { sandbox, api, receiver, deliver } = open()
    const got: unknown[] = []
    receiver.on('client.*', async (_, { fetch }) => got.push(await fetch()))
    const { id } = await api.clients.create()
    await sandbox.fetch(new Request(`${sandbox.url}/_sandbox/clients/${id}`, { method: 'DELETE' }))
    await deliver('client.deleted', id)
    await deliver('client.updated', id)
    expect(got).toEqual([null, null])
  })

  test('all handlers of a delivery share one request, at the same time and shortly after', async () => {
    const { clock, api, asked, receiver, deliver } = open()
    receiver.on('verification.created', async (_, { fetch }) => Promise.all([fetch(), fetch()]))
    receiver.on('verification.created', (_, { fetch }) => fetch())
    const { id } = await api.verifications.create(input)
    await deliver('verification.created', id)
    expect(asked).toHaveLength(1)
    clock.advance({ milliseconds: 999 })
    await deliver('verification.created', id)
    expect(asked).toHaveLength(2)
  })

  test('context.fetch() never returns a response from before the event arrived', async () => {
    const { clock, sandbox, api, asked, receiver, deliver } = open()
    const got: unknown[] = []
    receiver.on('verification.*', async (_, { fetch }) => got.push((await fetch())?.status))
    const { id } = await api.verifications.create(input)
    await deliver('verification.created', id)
    clock.advance({ milliseconds: 1 })
    await sandbox.act(id, 'cancel')
    await deliver('verification.canceled', id)
    expect(got).toEqual(['initiated', 'canceled'])
    expect(asked).toHaveLength(2)
  })

  test('context.fetch() never returns an earlier response, even if the clock stands still', async () => {
    const { sandbox, api, asked, receiver, deliver } = open()
    const got: unknown[] = []
    receiver.on('verification.*', async (_, { fetch }) => got.push((await fetch())?.status))
    const { id } = await api.verifications.create(input)
    await deliver('verification.created', id)
    await sandbox.act(id, 'cancel')
    await deliver('verification.canceled', id)
    expect(got).toEqual(['initiated', 'canceled'])
    expect(asked).toHaveLength(2)
  })

  test.each([
    ['here', 0],
    ['on a machine whose clock is behind', 2_000],
  ])(
    'handlers of one event share a response, and get none of before it was kept %s',
    async (_, behind) => {
      const clock = fakeClock(start)
      const sandbox = openSandbox({ now: start })
      const kept = () => new Date(clock.now().getTime() - behind)
      let asked = 0
      const api = clientOf(sandbox, {
        limiter: false,
        fetch: (request) => {
          if (request.method === 'GET') asked += 1
          return sandbox.fetch(request)
        },
      })
      const inbox = createInbox({ store: memoryStore() })
      const receiver = createReceiver({ secret, inbox, client: api, now: clock.now })
      const got: unknown[] = []
      receiver.on('verification.*', async (_, { fetch }) => got.push((await fetch())?.status))
      receiver.on('verification.*', async (_, { fetch }) => got.push((await fetch())?.status))
      const { id } = await api.verifications.create(input)
      const deliver = async (event: string) =>
        receiver.receive(
          await signedDelivery({ id: event, event, data: { id } }, { secret, now: kept }),
        )
      await deliver('verification.created')
      await createWorker(receiver).runOnce()
      await sandbox.act(id, 'cancel')
      await deliver('verification.canceled')
      await createWorker(receiver).runOnce()
      expect(got).toEqual(['initiated', 'initiated', 'canceled', 'canceled'])
      expect(asked).toBe(2)
    },
  )

  test('context.fetch() asks again if the last response is old, or was an error', async () => {
    const { sandbox, api, asked, receiver, deliver } = open()
    let [old, later] = [false, 0]
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + later)
    onTestFinished(() => void vi.restoreAllMocks())
    receiver.on('verification.created', async (_, { fetch }) => {
      await fetch()
      if (old) later += 1_000
      await fetch()
    })
    const { id } = await api.verifications.create(input)
    await deliver('verification.created', id)
    expect(asked).toHaveLength(1)
    old = true
    await deliver('verification.created', id)
    expect(asked).toHaveLength(3)
    sandbox.faults.set([{ kind: 'error-500', times: 5 }])
    const failed = await deliver('verification.created', id)
    expect(failed).toMatchObject({ errors: [{ error: { name: 'ServerError' } }] })
    old = false
    expect(await deliver('verification.created', id)).toMatchObject({ kind: 'handled' })
  })

  test('attempts share no response', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(start) })
    onTestFinished(() => void vi.useRealTimers())
    const got: unknown[] = []
    let asked = 0
    const get = async (id: string) => ({ id, asked: ++asked })
    const client = { verifications: { get }, clients: { get } } as never
    const inbox = createInbox({ store: memoryStore(), now: () => new Date() })
    const receiver = createReceiver({ secret, client, inbox, observe: () => {} })
    receiver.on('client.created', async (_, { fetch }) => {
      got.push(await fetch())
      throw new Error('not yet')
    })
    await receiver.receive(await signedDelivery(fixture('client.created'), { secret }))
    for (const hour of [0, 1, 2]) {
      vi.setSystemTime(new Date(start).getTime() + hour * 3_600_000)
      await createWorker(receiver).runOnce()
    }
    expect(got).toMatchObject([{ asked: 1 }, { asked: 2 }, { asked: 3 }])
  })

  test('each handler gets its own copy', async () => {
    const { api, asked, receiver, deliver } = open()
    const got: unknown[] = []
    const spoil = async (_: unknown, { fetch }: { fetch(): Promise<unknown> }) => {
      const mine = (await fetch()) as { status: string; requirements: string[] }
      got.push(structuredClone(mine))
      mine.status = 'mine'
      mine.requirements.push('mine')
    }
    receiver.on('verification.created', spoil)
    receiver.on('verification.*', spoil)
    const { id } = await api.verifications.create(input)
    await deliver('verification.created', id)
    expect(got).toMatchObject(Array(2).fill({ status: 'initiated', requirements: ['consent'] }))
    expect(asked).toHaveLength(1)
  })

  test('a 404 counts as a deletion only in the service’s form, and `active` only of clients', async () => {
    const got: unknown[] = []
    let answer = () => new Response('<html>no such page</html>', { status: 404 })
    const client = createClient({
      baseUrl: 'https://x.test/v2/api',
      apiKey: 'k1',
      observe: () => {},
      fetch: async () => answer(),
    })
    const receiver = createReceiver({
      secret,
      client,
      now: fakeClock(start).now,
      observe: () => {},
    })
    receiver.on('verification.created', async (_, { fetch }) => got.push(await fetch()))
    const deliver = async (id: string) =>
      receiver.receive(
        await signedDelivery({ event: 'verification.created', data: { id } }, { secret }),
      )
    expect(await deliver('v1')).toMatchObject({
      kind: 'failed',
      errors: [{ error: { name: 'NotFoundError', byService: false } }],
    })
    const body = { code: 'NOT_FOUND', message: 'Verification not found', statusCode: 404 }
    answer = () => Response.json(body, { status: 404 })
    await deliver('v2')
    answer = () => Response.json({ id: 'v3', active: false })
    await deliver('v3')
    expect(got).toEqual([null, { id: 'v3', active: false }])
  })

  test('context.fetch() ends with its handler, and the request with the last waiting handler', async () => {
    const ended: unknown[] = []
    const get = (_: string, { signal }: { readonly signal: AbortSignal }) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => {
          ended.push(signal.reason.name)
          reject(signal.reason)
        })
      })
    const client = { verifications: { get }, clients: { get } }
    const receiver = createReceiver({ secret, client, handlerTimeout: 20 })
    const reasons: unknown[] = []
    receiver.on('client.created', async (_, { fetch }) => {
      reasons.push(((await failure(fetch())) as Error).name)
    })
    const event = { event: 'client.created', data: { id: 'c1' } }
    const outcome = await receiver.receive(await signedDelivery(event, { secret }))
    expect(outcome).toMatchObject({ kind: 'failed', code: 'HANDLER_TIMEOUT' })
    await vi.waitFor(() => expect(reasons).toEqual(['TimeoutError']))
    expect(ended).toEqual(['TimeoutError'])
  })
})
