import { afterEach, expect, test } from 'vitest'
import { assumptions } from '../../tools/sandbox/assumptions.ts'
import type { Sandbox } from '../../tools/sandbox/sandbox.ts'
import { minimal } from './conformance-rows.ts'
import { type Call, caller, type Json, openSandbox } from './open-sandbox.ts'

const api = '/v2/api'
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

interface Setting {
  readonly sandbox: Sandbox
  readonly call: Call
  readonly create: (body?: Json) => Promise<Json>
  readonly createClient: (body?: Json) => Promise<Json>
  /** A request whose body is sent as it is written. */
  readonly post: (path: string, body: string | Uint8Array<ArrayBuffer>) => Promise<Response>
}

async function setUp(): Promise<Setting> {
  const subscriptions = [{ url: 'http://app.test/' }]
  const sandbox = await openSandbox({ subscriptions, fetch: async () => new Response() })
  closing.push(() => sandbox.close())
  const call = caller(sandbox.url, sandbox.fetch)
  const post = (path: string, body: string | Uint8Array<ArrayBuffer>) =>
    sandbox.fetch(`${sandbox.url}${api}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': 'key_acme', 'content-type': 'application/json' },
      body,
    })
  return {
    sandbox,
    call,
    post,
    create: async (body = {}) =>
      (await call('POST', `${api}/verifications`, { body: { ...minimal, ...body } })).body,
    createClient: async (body = {}) => (await call('POST', `${api}/clients`, { body })).body,
  }
}

const eventsOf = (sandbox: Sandbox) =>
  sandbox.deliveries
    .list()
    .map(({ event }) => event)
    .toReversed()

const nested = (levels: number) => `{"metadata":${'{"a":'.repeat(levels - 1)}1${'}'.repeat(levels)}`

/** Each decision beyond the document that no row of the document shows, by its topic. */
const held: Readonly<Record<string, (setting: Setting) => Promise<void>>> = {
  async requestCount({ sandbox, call, create, createClient }) {
    const client = await createClient()
    await sandbox.clock.advance({ seconds: 5 })
    const { id } = await create({ clientId: client.id })
    await create({ clientId: client.id })
    await sandbox.act(id, 'cancel')
    const { body } = await call('GET', `${api}/clients/${client.id}`)
    expect(body).toMatchObject({ requestCount: 2, updatedAt: client.updatedAt })
    expect(eventsOf(sandbox)).not.toContain('client.updated')
  },
  async externalId({ createClient }) {
    const [one, other] = [
      await createClient({ externalId: 'same' }),
      await createClient({ externalId: 'same' }),
    ]
    expect(one.externalId).toBe(other.externalId)
    expect(one.id).not.toBe(other.id)
  },
  async 'pages without records'({ call, createClient }) {
    const { body: empty } = await call('GET', `${api}/clients?page=3`)
    expect(empty.data).toEqual([])
    expect(empty.pagination).toMatchObject({ totalPages: 0, hasNext: false, hasPrev: false })
    await createClient()
    const { status, body: beyond } = await call('GET', `${api}/clients?page=3`)
    expect([status, beyond.data]).toEqual([200, []])
    expect(beyond.pagination).toMatchObject({ totalPages: 1, hasNext: false, hasPrev: true })
  },
  async nesting({ call, post }) {
    const answer = await post('/clients', nested(490))
    expect(answer.status).toBe(201)
    expect((await post('/clients', nested(513))).status).toBe(400)
    expect((await post('/clients', nested(100_000))).status).toBe(400)
    const { body } = await call('GET', '/_sandbox/snapshot')
    expect((await call('PUT', '/_sandbox/snapshot', { body })).status).toBe(200)
  },
  async 'repeated keys'({ post }) {
    const answer = await post('/clients', '{"nameFirst":"Ada","nameFirst":"Grace"}')
    expect(await answer.json()).toMatchObject({ nameFirst: 'Grace' })
  },
  async 'byte order mark'({ post }) {
    const answer = await post('/clients', new TextEncoder().encode('\ufeff{"nameFirst":"Ada"}'))
    expect(await answer.json()).toMatchObject({ nameFirst: 'Ada' })
  },
  async 'business clients'({ create, createClient }) {
    const businessName = 'Lovelace Engines'
    const client = await createClient({ memberType: 'business', businessName })
    expect((await create({ clientId: client.id })).subjectName).toBe(businessName)
  },
  async invitation({ sandbox, create, createClient }) {
    const client = await createClient({ email: 'ada@x.example' })
    await create({ clientId: client.id })
    const [mail] = sandbox.snapshot().state.outbox
    expect(mail).toMatchObject({ kind: 'invitation', to: 'ada@x.example' })
  },
  async 'return address'({ sandbox, create }) {
    const page = async (config: object, query = '') => {
      const { accessToken } = await create({ config })
      const answer = await sandbox.fetch(`${sandbox.url}/verify/${accessToken}${query}`)
      return answer.text()
    }
    const link = '<a href="https://app.test/done?a=1&amp;b=2">Return to app.test</a>'
    expect(await page({ returnUrl: 'https://app.test/done?a=1&b=2' })).toContain(link)
    const query = `?returnUrl=${encodeURIComponent('https://app.test/done?a=1&b=2')}`
    expect(await page({ returnUrl: 'https://other.test/' }, query)).toContain(link)
    for (const returnUrl of ['javascript:alert(1)', 'data:text/html,x', '/done', 7]) {
      expect(await page({ returnUrl }), String(returnUrl)).not.toContain('Return to')
    }
  },
  async 'repeated requirements'({ sandbox, create }) {
    const { id, requirements } = await create({ requirements: ['document', 'document'] })
    expect(requirements).toEqual(['document', 'document'])
    const { status } = await sandbox.act(id, ['start', { action: 'submit', step: 'document' }])
    expect(status).toBe('submitted')
  },
  async 'status list'({ call, create }) {
    await create()
    const of = (status: string) => call('GET', `${api}/verifications?status=${status}`)
    expect((await of('approved,%20initiated')).body.data).toHaveLength(1)
    expect((await of('initiated,')).status).toBe(422)
  },
  async dates({ call, create }) {
    const { createdAt } = await create()
    const list = async (query: string) =>
      (await call('GET', `${api}/verifications?${query}`)).body.data.length
    const later = new Date(Date.parse(createdAt) + 1).toISOString()
    expect(await list(`dateFrom=${createdAt}`)).toBe(1)
    expect(await list(`dateFrom=${createdAt.replace('Z', '000Z')}`)).toBe(1)
    expect(await list(`dateFrom=${later}`)).toBe(0)
    expect(await list(`dateTo=${createdAt.replace('Z', '5Z')}`)).toBe(1)
    expect(await list(`dateTo=${createdAt}`)).toBe(1)
  },
  async country({ createClient }) {
    expect((await createClient({ country: 'zz' })).country).toBe('zz')
    expect((await createClient({ country: 'c4' })).code).toBe('VALIDATION_ERROR')
  },
  async 'search of clients'({ call, createClient }) {
    await createClient({ nameFirst: 'Ada', nameLast: 'Lovelace', businessName: 'Engines Ltd' })
    for (const search of ['ada love', 'ENGINES']) {
      const { body } = await call('GET', `${api}/clients?search=${encodeURIComponent(search)}`)
      expect(body.data, search).toHaveLength(1)
    }
  },
  async 'client.updated'({ sandbox, call, createClient }) {
    const { id } = await createClient({ nameFirst: 'Ada' })
    await call('PATCH', `/_sandbox/clients/${id}`, { body: {} })
    expect(eventsOf(sandbox)).toEqual(['client.created'])
    await call('PATCH', `/_sandbox/clients/${id}`, { body: { nameFirst: 'Ada' } })
    expect(eventsOf(sandbox)).toEqual(['client.created', 'client.updated'])
  },
  async errors({ post }) {
    const response = await post('/verifications', `{"requirements":[${'1,'.repeat(3_000)}1]}`)
    const { errors } = (await response.json()) as { errors: object[] }
    expect([response.status, errors.length]).toEqual([422, 1_000])
  },
  async 'rate headers'({ call }) {
    const rate = ({ headers }: { headers: Headers }) =>
      ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => headers.has(name))
    expect(rate(await call('GET', `${api}/clients`))).toEqual([false, false])
    expect(rate(await call('GET', `${api}/clients`, { key: 'key_limited' }))).toEqual([true, true])
  },
}

test.each(Object.keys(held))('the assumption about %s is declared and holds', async (topic) => {
  expect(assumptions.map((one) => one.topic)).toContain(topic)
  await held[topic]?.(await setUp())
})

test('every assumption is declared once', () => {
  const topics = assumptions.map(({ topic }) => topic)
  expect(new Set(topics).size).toBe(topics.length)
  expect(topics).toContain('e-mail addresses')
})
