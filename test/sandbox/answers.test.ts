import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../src/testing/replay.ts'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { minimal } from './conformance-rows.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const url = 'http://a.test/'

async function fresh(options: SandboxOptions = {}) {
  const sandbox = await openSandbox({ subscriptions: [{ url }], ...options })
  closing.push(() => sandbox.close())
  const call = caller(sandbox.url, sandbox.fetch)
  const create = async (body: Json = {}) =>
    (await call('POST', '/v2/api/verifications', { body: { ...minimal, ...body } })).body
  /** The attempts of the only delivery. */
  const attempts = () => {
    const [only] = sandbox.deliveries.list()
    return sandbox.deliveries.get(String(only?.id))?.attempts ?? []
  }
  return { sandbox, call, create, attempts }
}

describe('an attempt keeps', () => {
  test('an attempt keeps the answer’s bytes, every header and the real duration', async () => {
    const bytes = new Uint8Array([0, 255, 128, 10])
    const { sandbox, create, attempts } = await fresh({
      fetch: async () => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        const headers = [
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
        ] as [string, string][]
        return new Response(bytes, { headers })
      },
    })
    await create()
    await sandbox.flush()
    const [made] = attempts()
    expect(made?.response?.body).toBe(Buffer.from(bytes).toString('base64'))
    expect(made?.response?.headers).toEqual([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ])
    expect(made?.response?.truncated).toBeUndefined()
    expect(made?.durationMs).toBeGreaterThan(20)
  })

  test('an attempt keeps the beginning of an endless answer and cancels the rest', async () => {
    let sent = 0
    const left = Promise.withResolvers<void>()
    const peer = await listen((_request: unknown, response: import('node:http').ServerResponse) => {
      response.on('close', left.resolve)
      const more = (failed?: unknown) => {
        if (failed) return
        sent += 65_536
        response.write(Buffer.alloc(65_536, 'x'), more)
      }
      more()
    })
    closing.push(peer.close)
    const { sandbox, create, attempts } = await fresh({ subscriptions: [{ url: peer.url }] })
    await create()
    await sandbox.flush()
    await left.promise
    const response = attempts()[0]?.response
    expect([response?.status, response?.truncated]).toEqual([200, true])
    expect(atob(String(response?.body))).toBe('x'.repeat(16_384))
    expect(sent).toBeLessThan(64 * 1_048_576)
  })

  test('an attempt keeps an answer of exactly the kept length whole', async () => {
    const text = 'x'.repeat(16_384)
    const { sandbox, create, attempts } = await fresh({ fetch: async () => new Response(text) })
    await create()
    await sandbox.flush()
    expect(attempts()[0]?.response).toEqual(
      expect.objectContaining({ body: btoa(text), status: 200 }),
    )
    expect(attempts()[0]?.response?.truncated).toBeUndefined()
  })
})

describe('Retry-After', () => {
  test('a Retry-After of 0 does not use up the attempts at once', async () => {
    const { sandbox, create, attempts } = await fresh({
      fetch: async () => new Response(null, { status: 503, headers: { 'retry-after': '0' } }),
    })
    await create()
    await sandbox.flush()
    expect(attempts()).toHaveLength(1)
    await sandbox.clock.advance({ seconds: 35 })
    expect(attempts().map(({ at }) => at.slice(17, 19))).toEqual(['00', '05', '35'])
  })

  test('a Retry-After date is compared with real time, not with the sandbox’s clock', async () => {
    const inThirty = () => new Date(Date.now() + 30_000).toUTCString()
    const { sandbox, create } = await fresh({
      fetch: async () =>
        new Response(null, { status: 503, headers: { 'retry-after': inThirty() } }),
    })
    await create()
    await sandbox.flush()
    const [{ attempts, nextAttemptAt }] = sandbox.deliveries.list() as [Json]
    const wait = (Date.parse(nextAttemptAt) - Date.parse(attempts[0].at)) / 1000
    expect(wait).toBeGreaterThan(25)
    expect(wait).toBeLessThanOrEqual(30)
  })
})

describe('reorder', () => {
  const names = (order: readonly string[]) => order.join(' ')

  test('an unlimited reorder swaps deliveries in pairs, and sends a single last one after a while', async () => {
    let time = Date.parse('2026-03-01T10:00:00Z')
    const order: string[] = []
    const all = Promise.withResolvers<void>()
    const { sandbox, create } = await fresh({
      now: () => new Date(time),
      fetch: async (input) => {
        order.push((await (input as Request).json()).data.subjectName)
        if (order.length === 4) all.resolve()
        return new Response()
      },
    })
    sandbox.faults.set([{ kind: 'reorder' }])
    for (let at = 1; at <= 5; at++) await create({ subjectName: String(at) })
    await all.promise
    const wentBefore = (one: string, other: string) => order.indexOf(one) < order.indexOf(other)
    expect([wentBefore('2', '1'), wentBefore('4', '3')]).toEqual([true, true])
    time += 29_000
    await sandbox.clock.advance({ seconds: 0 })
    expect(order).not.toContain('5')
    time += 1000
    await sandbox.clock.advance({ seconds: 0 })
    expect(order.slice(4)).toEqual(['5'])
    expect(sandbox.deliveries.list({ status: 'pending' })).toEqual([])
  })

  test('a reordered delivery waits for its seconds, across a restore too', async () => {
    const order: string[] = []
    const { sandbox, create } = await fresh({
      fetch: async (input) => {
        order.push((await (input as Request).json()).data.subjectName)
        return new Response()
      },
    })
    sandbox.faults.set([{ kind: 'reorder', seconds: 600, times: 1 }])
    await create({ subjectName: '1' })
    sandbox.restore(sandbox.snapshot())
    await sandbox.clock.advance({ seconds: 599 })
    expect(order).toEqual([])
    await create({ subjectName: '2' })
    await sandbox.flush()
    expect(names(order)).toBe('2 1')
  })
})

describe('deliveries', () => {
  test('deliveries of a paused subscription are held, also when they are sent again', async () => {
    let sent = 0
    const { sandbox, create } = await fresh({
      fetch: async () => {
        sent++
        return new Response()
      },
    })
    const { subscriptions, resendAll, list } = sandbox.deliveries
    await create()
    await sandbox.flush()
    const id = String(subscriptions.list()[0]?.id)
    subscriptions.update(id, { active: false })
    expect(resendAll({})).toBe(1)
    await sandbox.flush()
    expect([sent, list()[0]?.status]).toEqual([1, 'held'])
    subscriptions.update(id, { active: true })
    await sandbox.flush()
    expect([sent, list()[0]?.status]).toEqual([2, 'delivered'])
  })
})

describe('answers on the older paths', () => {
  test('every answer on a legacy path says that the path is deprecated', async () => {
    const { sandbox, call } = await fresh({ rateLimit: 3 })
    const told = async (method: string, path: string, options: object = {}) => {
      const { status, headers } = await call(method, `/v2/api${path}`, options)
      expect(headers.get('deprecation'), `${status} ${path}`).toMatch(/^@\d+$/)
      expect(headers.get('link')).toBe(
        `</v2/api${path.replace('requests', 'verifications')}>; rel="successor-version"`,
      )
      return status
    }
    expect(await told('GET', '/requests')).toBe(200)
    expect(await told('GET', '/requests/nobody')).toBe(404)
    expect(await told('POST', '/requests', { body: {} })).toBe(422)
    expect(await told('GET', '/requests')).toBe(429)
    expect(await told('GET', '/requests', { key: null })).toBe(401)
    expect(await told('DELETE', '/requests')).toBe(405)
    sandbox.faults.set([{ kind: 'error-500' }])
    expect(await told('GET', '/requests')).toBe(500)
    const { headers } = await call('GET', '/v2/api/verifications')
    expect(headers.get('deprecation')).toBeNull()
  })

  test('a fault of a canonical path strikes the legacy one, not the other way round', async () => {
    const { sandbox, call } = await fresh()
    const statuses = async () => [
      (await call('GET', '/v2/api/verifications')).status,
      (await call('GET', '/v2/api/requests')).status,
    ]
    sandbox.faults.set([{ kind: 'error-500', path: '/verifications' }])
    expect(await statuses()).toEqual([500, 500])
    sandbox.faults.set([{ kind: 'error-500', path: '/requests' }])
    expect(await statuses()).toEqual([200, 500])
  })
})

test.each([
  ['POST', '/clients', { firstName: 'Ada' }],
  ['POST', '/verifications', { ...minimal, subjectNmae: 'Ada' }],
  ['GET', '/clients?pageSize=5&page=1', undefined],
])('%s %s ignores fields and parameters that it does not know', async (method, path, body) => {
  const { call } = await fresh()
  expect((await call(method, `/v2/api${path}`, { body })).status).toBe(method === 'GET' ? 200 : 201)
})

describe('lists', () => {
  const total = async (call: ReturnType<typeof caller>, path: string) =>
    (await call('GET', `/v2/api${path}`)).body.pagination.total

  test('a list ignores an empty search and accepts any date', async () => {
    const { call, create } = await fresh({ fetch: async () => new Response() })
    await create()
    await call('POST', '/v2/api/clients', { body: {} })
    expect(await total(call, '/verifications?search=')).toBe(1)
    expect(await total(call, '/clients?search=')).toBe(1)
    expect(await total(call, '/verifications?dateTo=9999-12-31T23:59:59-05:00')).toBe(1)
    expect(await total(call, '/verifications?dateFrom=9999-12-31T23:59:59-05:00')).toBe(0)
    expect(await total(call, '/verifications?dateFrom=0000-01-01T00:00:00%2B05:00')).toBe(1)
  })

  test('clients are sorted like a dictionary, persons by their own name', async () => {
    const { call } = await fresh({ fetch: async () => new Response() })
    for (const nameFirst of ['Zoe', 'émile', 'Adam', 'Åsa', 'adam']) {
      await call('POST', '/v2/api/clients', { body: { nameFirst } })
    }
    const employed = { nameFirst: 'Mia', businessName: 'AAA Employer' }
    await call('POST', '/v2/api/clients', { body: employed })
    const business = { memberType: 'business', nameFirst: 'Zed', businessName: 'Bakery' }
    await call('POST', '/v2/api/clients', { body: business })
    const { body } = await call('GET', '/v2/api/clients?sort=name')
    expect(body.data.map((one: Json) => one.nameFirst)).toEqual([
      'adam',
      'Adam',
      'Åsa',
      'Zed',
      'émile',
      'Mia',
      'Zoe',
    ])
  })
})

describe('a record', () => {
  test('a long client name is cut between characters, not within one', async () => {
    const { sandbox, call, create } = await fresh({ fetch: async () => new Response() })
    const body = { nameFirst: '😀'.repeat(64), nameLast: '🦊'.repeat(64) }
    const client = (await call('POST', '/v2/api/clients', { body })).body
    const { subjectName } = await create({ clientId: client.id })
    expect(subjectName).toBe(`${'😀'.repeat(64)} ${'🦊'.repeat(63)}`)
    sandbox.restore(sandbox.snapshot())
  })
})
