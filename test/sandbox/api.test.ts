import { Validator } from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { endpoints as contract } from '../../src/client/contract.ts'
import { errorBodySchema } from '../../src/protocol/api-schemas.ts'
import { eventNames } from '../../src/protocol/names.ts'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { minimal } from './conformance-rows.ts'
import { type Call, caller, type Json, openSandbox, start } from './open-sandbox.ts'

const api = '/v2/api'
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function fresh(options: SandboxOptions = {}) {
  const sandbox = await openSandbox(options)
  closing.push(() => sandbox.close())
  return { sandbox, call: caller(sandbox.url, sandbox.fetch) }
}

const create = async (call: Call, body: Json = {}, key = 'key_acme') =>
  (await call('POST', `${api}/verifications`, { key, body: { ...minimal, ...body } })).body

describe('the rate limit', () => {
  test('the rate limit accepts the 200th request of a minute and rejects the 201st, per organization', async () => {
    const { sandbox, call } = await fresh({ rateLimit: undefined as never })
    for (let at = 1; at <= 200; at++) {
      expect((await call('GET', `${api}/clients`)).status, String(at)).toBe(200)
    }
    await sandbox.clock.advance({ seconds: 20 })
    const refused = await call('GET', `${api}/verifications`)
    expect(refused.status).toBe(429)
    expect(refused.body).toMatchObject({ code: 'RATE_LIMITED', statusCode: 429 })
    expect(refused.headers.get('retry-after')).toBe('40')
    expect(refused.headers.get('x-ratelimit-limit')).toBe('200')
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    expect((await call('GET', `${api}/clients`, { key: 'key_globex' })).status).toBe(200)
    await sandbox.clock.advance({ seconds: 0.5 })
    const later = await call('GET', `${api}/verifications`)
    expect(later.headers.get('retry-after')).toBe('40')
    await sandbox.clock.advance({ seconds: 38.5 })
    expect((await call('GET', `${api}/clients`)).status).toBe(429)
    await sandbox.clock.advance({ seconds: 1 })
    expect((await call('GET', `${api}/clients`)).status).toBe(200)
  })

  test('the Enterprise plan has its own rate', async () => {
    const { call } = await fresh({ rateLimit: undefined as never })
    const body = { ratePerMinute: 3 }
    await call('PATCH', '/_sandbox/organizations/org_initech', { body })
    const statuses: number[] = []
    for (let at = 0; at < 4; at++) {
      statuses.push((await call('GET', `${api}/clients`, { key: 'key_initech' })).status)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  test('the rate limit can be set for all, or switched off', async () => {
    const { call } = await fresh({ rateLimit: 1 })
    expect((await call('GET', `${api}/clients`)).status).toBe(200)
    expect((await call('GET', `${api}/clients`)).status).toBe(429)
    const off = await fresh({ rateLimit: false })
    for (let at = 0; at < 300; at++) await off.call('GET', `${api}/clients`)
    expect((await off.call('GET', `${api}/clients`)).status).toBe(200)
  })
})

describe('organizations', () => {
  test('organizations see nothing of each other at any endpoint', async () => {
    const { call } = await fresh()
    const theirs = { key: 'key_globex' }
    const client = (await call('POST', `${api}/clients`, { body: { nameFirst: 'Ada' } })).body
    const verification = await create(call, { clientId: client.id, subjectName: 'Ada' })
    for (const path of [
      `/verifications/${verification.id}`,
      `/requests/${verification.id}`,
      `/clients/${client.id}`,
    ]) {
      const { status, body } = await call('GET', `${api}${path}`, theirs)
      expect([status, body.code], path).toEqual([404, 'NOT_FOUND'])
    }
    for (const path of [
      '/verifications',
      '/requests',
      '/clients',
      `/verifications?clientId=${client.id}`,
      '/verifications?search=Ada',
      '/clients?search=Ada',
    ]) {
      expect((await call('GET', `${api}${path}`, theirs)).body.data, path).toEqual([])
    }
    const body = { ...minimal, clientId: client.id }
    const linked = await call('POST', `${api}/verifications`, { ...theirs, body })
    expect(linked.status).toBe(422)
    expect(linked.body.errors).toMatchObject([{ field: 'clientId' }])
  })

  test('a subscription of an organization receives only its events', async () => {
    const { sandbox, call } = await fresh({ fetch: async () => new Response() })
    await call('POST', '/_sandbox/subscriptions', {
      body: { url: 'http://127.0.0.1:9/', organizationId: 'org_globex' },
    })
    await create(call)
    await create(call, {}, 'key_globex')
    expect(sandbox.deliveries.list()).toHaveLength(1)
  })
})

describe('lists', () => {
  test('lists have exact pagination at every page size', async () => {
    const { call } = await fresh()
    for (let at = 0; at < 23; at++) await create(call)
    for (const limit of [1, 5, 10, 22, 23, 24, 100]) {
      const totalPages = Math.ceil(23 / limit)
      for (const page of [1, totalPages, totalPages + 1]) {
        const { body } = await call('GET', `${api}/verifications?limit=${limit}&page=${page}`)
        const left = Math.max(0, 23 - (page - 1) * limit)
        expect(body.data).toHaveLength(Math.min(limit, left))
        expect(body.pagination).toEqual({
          page,
          limit,
          total: 23,
          totalPages,
          hasNext: page < totalPages,
          hasPrev: page > 1,
        })
      }
    }
  })

  test('a list of 1,000 verifications paged with dateTo is complete while others are created', async () => {
    const { sandbox, call } = await fresh()
    const made = new Set<string>()
    for (let at = 0; at < 1000; at++) made.add((await create(call)).id)
    const until = sandbox.clock.now().toISOString()
    await sandbox.clock.advance({ seconds: 1 })
    const seen: string[] = []
    for (let page = 1; ; page++) {
      const { body } = await call(
        'GET',
        `${api}/verifications?limit=100&page=${page}&dateTo=${until}`,
      )
      seen.push(...body.data.map((one: Json) => one.id))
      for (let at = 0; at < 7; at++) await create(call)
      if (!body.pagination.hasNext) break
    }
    expect(seen).toHaveLength(1000)
    expect(new Set(seen)).toEqual(made)
  })

  test('lists show every change at once', async () => {
    const { sandbox, call } = await fresh()
    const { id } = await create(call)
    const { body: client } = await call('POST', `${api}/clients`, { body: {} })
    const totals = async (...paths: string[]) => {
      const all = paths.map((path) => call('GET', `${api}${path}`))
      return (await Promise.all(all)).map(({ body }) => body.pagination.total)
    }
    const lists = ['/verifications?status=canceled', '/clients?active=false'] as const
    expect(await totals(...lists)).toEqual([0, 0])
    await sandbox.act(id, 'cancel')
    await call('DELETE', `/_sandbox/clients/${client.id}`)
    expect(await totals(...lists)).toEqual([1, 1])
  })

  test('lists answer every combination of filter and sort like a plain selection', async () => {
    const { sandbox, call } = await fresh()
    const kinds = ['idv', 'kyc', 'share'] as const
    const lives = [[], ['cancel'], ['start'], ['start', 'submit', 'approve']] as const
    const all: Json[] = []
    for (let at = 0; at < 36; at++) {
      const { id } = await create(call, { type: kinds[at % 3], subjectName: `Person ${at % 5}` })
      await sandbox.clock.advance({ seconds: 1 })
      const actions = lives[at % 4] ?? []
      if (actions.length > 0) await sandbox.act(id, actions)
      const { body } = await call('GET', `${api}/verifications/${id}`)
      all.unshift(body)
    }
    const order = ['initiated', 'in_progress', 'submitted', 'pending_review', 'approved']
    const rank = (one: Json) => [...order, 'rejected', 'canceled', 'expired'].indexOf(one.status)
    const sorts: Record<string, (one: Json, other: Json) => number> = {
      created_at: () => 0,
      updated_at: (one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt),
      status: (one, other) => rank(one) - rank(other),
    }
    for (const type of ['', ...kinds]) {
      for (const status of ['', 'initiated', 'approved,canceled', 'expired']) {
        for (const search of ['', 'person 3']) {
          for (const sort of ['', ...Object.keys(sorts)]) {
            const wanted = { type, status, search, sort }
            const given = Object.entries(wanted).filter(([, value]) => value !== '')
            const query = new URLSearchParams(given)
            const { body } = await call('GET', `${api}/verifications?limit=100&${query}`)
            const expected = all
              .filter((one) => type === '' || one.type === type)
              .filter((one) => status === '' || status.split(',').includes(one.status))
              .filter((one) => one.subjectName.toLowerCase().includes(search))
              .toSorted(sorts[sort || 'created_at'])
            const ids = (list: Json[]) => list.map((one) => one.id)
            expect(ids(body.data), String(query)).toEqual(ids(expected))
          }
        }
      }
    }
  })
})

describe('bad input is answered in the error form', () => {
  const isErrorForm = (status: number, body: Json) => {
    expect(errorBodySchema.safeParse(body).error).toBeUndefined()
    expect(body.statusCode).toBe(status)
    expect(status).toBeLessThan(500)
  }

  test('an unknown method is 405 with Allow, an unknown path 404', async () => {
    const { call } = await fresh()
    for (const [method, path, allow] of [
      ['DELETE', '/verifications', 'POST, GET, HEAD'],
      ['PUT', '/verifications/x', 'GET, HEAD'],
      ['PATCH', '/requests/x', 'GET, HEAD'],
      ['DELETE', '/clients', 'POST, GET, HEAD'],
      ['OPTIONS', '/openapi.json', 'GET, HEAD'],
      ['PUT', '/openapi.json', 'GET, HEAD'],
    ] as const) {
      const answer = await call(method, `${api}${path}`)
      isErrorForm(answer.status, answer.body)
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
    }
    for (const path of ['/nowhere', '/v2', `${api}/nothing`, '/v1/api/verifications']) {
      const answer = await call('GET', path)
      isErrorForm(answer.status, answer.body)
      expect(answer.status, path).toBe(404)
    }
  })

  test('a body of another type is 400, a large one 413, even when it never ends', async () => {
    const { sandbox, call } = await fresh()
    const wrong = await call('POST', `${api}/clients`, {
      body: 'a=b',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(wrong.status).toBe(400)
    isErrorForm(wrong.status, wrong.body)
    const large = await call('POST', `${api}/clients`, { body: { nameFirst: 'x'.repeat(2e6) } })
    expect(large.status).toBe(413)
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(32)),
    })
    const response = await sandbox.fetch(
      new Request(`${sandbox.url}${api}/clients`, {
        method: 'POST',
        headers: { 'x-api-key': 'key_acme', 'content-type': 'application/json' },
        body: endless,
        duplex: 'half',
      } as RequestInit),
    )
    expect(response.status).toBe(413)
  })

  test('a parameter that breaks its rule is named with that rule', async () => {
    const { call } = await fresh()
    await create(call)
    const wrong = async (query: string) => {
      const { status, body } = await call('GET', `${api}/verifications?${query}`)
      return [status, body.errors?.[0]?.field, body.errors?.[0]?.message]
    }
    for (const page of ['-1', '0', '1.5']) {
      const [status, field, message] = await wrong(`page=${page}`)
      expect([status, field]).toEqual([422, 'page'])
      expect(message).not.toMatch(/string/)
    }
    expect((await wrong('page=1000000000'))[0]).toBe(200)
    expect((await wrong('type=idv&type=nothing')).slice(0, 2)).toEqual([422, 'type'])
    const { body } = await call('GET', `${api}/verifications?status=approved&status=initiated`)
    expect(body.data).toHaveLength(1)
    const country = await call('POST', `${api}/clients`, { body: { country: '12' } })
    expect(country.body.errors).toMatchObject([{ field: 'country' }])
  })

  test('10,000 random requests are answered in the error form and never with 500', async () => {
    const { sandbox } = await fresh()
    const { id } = await create(caller(sandbox.url, sandbox.fetch))
    const paths = Object.values(contract).map(({ path }) => path)
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }))
    const field = fc.constantFrom(
      ...['type', 'requirements', 'clientId', 'subjectName', 'subjectEmail', 'expiresDays'],
      ...['config', 'thirdParties', 'email', 'country', 'metadata', '__proto__', 'constructor'],
    )
    const query = fc.constantFrom('type', 'status', 'search', 'dateFrom', 'sort', 'page', 'limit')
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('idv', ['document'], '2026-01-01T00:00:00Z', -1, 1e300, 'x'.repeat(300)),
    )
    const requests = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
      base: fc.constantFrom(...paths, '/requests', '/requests/{id}', '/{id}', '//'),
      segment: fc.oneof(fc.constant(id), text.map(encodeURIComponent), fc.constant('..%2f..')),
      query: fc.array(fc.tuple(fc.oneof(query, text), text), { maxLength: 4 }),
      raw: fc.option(text),
      body: fc.oneof(
        text,
        fc.dictionary(field, value).map((one) => JSON.stringify(one)),
      ),
      key: fc.oneof(
        { weight: 8, arbitrary: fc.constant('key_acme') },
        { weight: 1, arbitrary: fc.constantFrom('', 'key_revoked', 'key_noplan', 'key_unpaid') },
      ),
      type: fc.constantFrom('application/json', 'application/json; charset=utf-8', 'text/plain'),
    })
    await fc.assert(
      fc.asyncProperty(requests, async ({ method, base, segment, query, raw, body, key, type }) => {
        const parameters = new URLSearchParams(query.map(([name, one]) => [name, one]))
        const search = raw === null ? String(parameters) : encodeURI(raw.toWellFormed())
        const url = `${sandbox.url}${api}${base.replace('{id}', segment)}?${search}`
        const hasBody = !['GET', 'HEAD'].includes(method)
        const response = await sandbox.fetch(
          new Request(url, {
            method,
            headers: { 'x-api-key': key, 'content-type': type },
            ...(hasBody && { body }),
          }),
        )
        expect(response.status).toBeLessThan(500)
        if (response.ok || method === 'HEAD') return
        isErrorForm(response.status, await response.json())
      }),
      { numRuns: 1_000 },
    )
  }, 120_000)
})

describe('OpenAPI', () => {
  test('the document is valid 3.1', async () => {
    const { call } = await fresh()
    const { status, body } = await call('GET', `${api}/openapi.json`, { key: null })
    expect(status).toBe(200)
    const { valid, errors } = await new Validator().validate(body)
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
  })

  test('the OpenAPI document has every endpoint of the contract, the legacy paths as deprecated', async () => {
    const { call } = await fresh()
    const { body } = await call('GET', `${api}/openapi.json`, { key: null })
    for (const { method, path } of Object.values(contract)) {
      expect(body.paths[path][method.toLowerCase()], `${method} ${path}`).toBeDefined()
    }
    expect(body.paths['/requests'].get.deprecated).toBe(true)
    expect(body.paths['/requests'].post.deprecated).toBe(true)
    expect(body.paths['/requests/{id}'].get.deprecated).toBe(true)
    const created = body.paths['/verifications'].post
    const statuses = ['201', '401', '402', '403', '422', '429']
    expect(Object.keys(created.responses)).toEqual(statuses)
    expect(body.paths['/clients'].post.requestBody.required).toBe(false)
    const list = body.paths['/verifications'].get
    const status = list.parameters.find((one: Json) => one.name === 'status')
    expect([status.style, status.explode]).toEqual(['form', false])
  })

  test('the OpenAPI document names its schemas, and has a webhook for every event', async () => {
    const { call } = await fresh()
    const { body } = await call('GET', `${api}/openapi.json`, { key: null })
    const { schemas } = body.components
    expect(Object.keys(schemas).sort()).toEqual([
      'AssembledVerification',
      'Client',
      'Error',
      'Pagination',
      'ThirdParty',
      'ValidationError',
      'Verification',
    ])
    expect(schemas.ValidationError.required).toContain('errors')
    expect(schemas.Error.required).not.toContain('errors')
    expect(Object.keys(body.webhooks)).toEqual([...eventNames])
    const { post } = body.webhooks['client.deleted']
    expect(post.parameters[0]).toMatchObject({ name: 'X-Service-Signature', in: 'header' })
    const event = post.requestBody.content['application/json'].schema
    expect(event.properties.event).toMatchObject({ const: 'client.deleted' })
    expect(event.properties.data).toEqual({ $ref: '#/components/schemas/Client' })
    for (const path of Object.values<Json>(body.paths)) {
      for (const operation of Object.values<Json>(path)) {
        const invalid = operation.responses['422']?.content['application/json'].schema.$ref
        expect([undefined, '#/components/schemas/ValidationError']).toContain(invalid)
      }
    }
  })
})

describe('magic values', () => {
  test.each([
    ['Auto Approve', 'approved', 97],
    ['auto reject', 'rejected', 12],
    ['Auto Review', 'pending_review', undefined],
    ['No Answer', 'initiated', null],
  ])('the subject name %s leads to %s', async (subjectName, status, score) => {
    const { sandbox, call } = await fresh()
    const created = await create(call, { subjectName })
    expect(created.status).toBe('initiated')
    const { body } = await call('GET', `${api}/verifications/${created.id}`)
    expect(body.status).toBe(status)
    if (score !== undefined) expect(body.score).toBe(score)
    await sandbox.clock.advance({ days: 8 })
    const later = await call('GET', `${api}/verifications/${created.id}`)
    expect(later.body.status).toBe(status === 'initiated' ? 'expired' : status)
  })

  test('magic values, API keys and assumptions are listed', async () => {
    const { call } = await fresh()
    const { body } = await call('GET', '/_sandbox/assumptions', { key: null })
    const names = body.magicNames.map((one: Json) => one.name)
    expect(names).toEqual(['Auto Approve', 'Auto Reject', 'Auto Review', 'No Answer'])
    expect(body.magicKeys.length).toBeGreaterThanOrEqual(7)
    const sections = body.data.map((one: Json) => one.section)
    for (const section of ['2.2', '2.3', '3', '4.5', '6', '7', '8']) {
      expect(sections, section).toContain(section)
    }
  })
})

test('options are checked, and a sandbox starts at their time', async () => {
  const { sandbox } = await fresh()
  expect([sandbox.clock.now().toISOString(), sandbox.clock.frozen]).toEqual([start, true])
  for (const [options, message] of [
    [{ now: 'soon' }, /now must be a Date/],
    [{ seed: Number.NaN }, /seed/],
    [{ rateLimit: -1 }, /rateLimit/],
    [{ data: '' }, /data/],
    [{ secret: 'short' }, /secret/],
    [{ fetch: 1 as never }, /fetch/],
    [{ sed: 1 } as never, /no option 'sed'/],
    [{ subscriptions: [{ url: 'nonsense' }] }, /subscriptions\.0\.url/],
    [{ subscriptions: [{ url: 'http://x/', events: ['bogus'] }] }, /subscriptions\.0\.events/],
  ] as const) {
    await expect(openSandbox(options)).rejects.toThrow(message)
  }
})
