import { request as httpRequest } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { minimal } from './conformance-rows.ts'
import { createEventSource } from './event-source.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function fresh(options: SandboxOptions = {}) {
  const sandbox = await openSandbox({ fetch: async () => new Response(), ...options })
  closing.push(() => sandbox.close())
  const call = caller(sandbox.url, sandbox.fetch)
  const create = async (body: Json = {}) =>
    (await call('POST', '/v2/api/verifications', { body: { ...minimal, ...body } })).body
  const act = (id: string, actions: unknown[], more: object = {}) =>
    call('POST', `/_sandbox/verifications/${id}/actions`, { body: { actions, ...more } })
  return { sandbox, call, create, act }
}

describe('actions', () => {
  const legal: Readonly<Record<string, readonly string[]>> = {
    initiated: ['start', 'cancel', 'expire'],
    in_progress: ['submit', 'cancel', 'expire'],
    submitted: ['review', 'approve', 'reject', 'cancel'],
    pending_review: ['approve', 'reject', 'cancel'],
    approved: [],
    rejected: [],
    canceled: [],
    expired: [],
  }
  const ways: Readonly<Record<string, readonly string[]>> = {
    initiated: [],
    in_progress: ['start'],
    submitted: ['start', 'submit'],
    pending_review: ['start', 'submit', 'review'],
    approved: ['start', 'submit', 'approve'],
    rejected: ['start', 'submit', 'reject'],
    canceled: ['cancel'],
    expired: ['expire'],
  }
  const actions = ['start', 'submit', 'review', 'approve', 'reject', 'cancel', 'expire']

  test.each(Object.keys(legal))(
    'of a verification that is %s are the legal ones alone',
    async (status) => {
      const { create, act } = await fresh()
      for (const action of actions) {
        const { id } = await create()
        const way = ways[status] ?? []
        if (way.length > 0) await act(id, [...way])
        const answer = await act(id, [action])
        if (legal[status]?.includes(action)) expect(answer.status, action).toBe(200)
        else {
          expect(answer.status, action).toBe(409)
          expect(answer.body).toMatchObject({ code: 'ILLEGAL_TRANSITION', statusCode: 409 })
          expect(answer.body.allowed.toSorted()).toEqual(legal[status]?.toSorted())
          expect(answer.body.message).toContain(legal[status]?.[0] ?? 'nothing is allowed')
          const forced = await act(id, [action], { force: true })
          expect(forced.status, `forced ${action}`).toBe(200)
        }
      }
    },
  )

  test('several actions in one call are all taken, or none and no event is sent', async () => {
    const { sandbox, call, create, act } = await fresh({
      subscriptions: [{ url: 'http://127.0.0.1:9/' }],
    })
    const { id } = await create()
    const before = sandbox.deliveries.list().length
    expect((await act(id, ['start', 'submit', 'start'])).status).toBe(409)
    expect((await call('GET', `/v2/api/verifications/${id}`)).body.status).toBe('initiated')
    expect(sandbox.deliveries.list()).toHaveLength(before)
    expect((await act(id, ['start', 'submit', 'review', 'reject'])).body.status).toBe('rejected')
  })

  test('submit completes one step or all, and shows the next one', async () => {
    const { create, act } = await fresh()
    const { id } = await create({ requirements: ['person', 'document', 'consent'] })
    const step = (name: string) => ({ action: 'submit', step: name })
    expect((await act(id, ['start'])).body.currentStep).toBe('person')
    const one = (await act(id, [step('person')])).body
    expect([one.status, one.currentStep, one.person.status]).toEqual([
      'in_progress',
      'document',
      'completed',
    ])
    const again = await act(id, [step('person')])
    expect([again.status, again.body.message]).toEqual([409, expect.stringContaining('document')])
    const all = (await act(id, ['submit'])).body
    expect([all.status, all.currentStep]).toEqual(['submitted', null])
    expect(all.submittedAt).not.toBeNull()
  })

  test('unknown actions are rejected in the error form', async () => {
    const { create, act } = await fresh()
    const { id } = await create()
    expect((await act(id, ['destroy'])).status).toBe(422)
    expect((await act(id, [])).status).toBe(422)
    expect((await act('nobody', ['start'])).status).toBe(404)
  })

  test('act() takes actions without HTTP, with its own error code', async () => {
    const { sandbox, create } = await fresh()
    const { id } = await create()
    const rejected = { action: 'reject', reason: 'blurred' } as const
    const read = await sandbox.act(id, ['start', 'submit', rejected])
    expect(read.status).toBe('rejected')
    expect(read.steps.at(-1)).toMatchObject({ action: 'reject', reason: 'blurred' })
    await expect(sandbox.act(id, 'start')).rejects.toMatchObject({ code: 'ILLEGAL_TRANSITION' })
    await expect(sandbox.act('x', 'start')).rejects.toMatchObject({ code: 'VERIFICATION_UNKNOWN' })
  })
})

describe('a verification', () => {
  test('a verification takes name, e-mail and phone from its client unless they are given', async () => {
    const { call, create } = await fresh()
    const body = { nameFirst: 'Ada', nameLast: 'Lovelace', email: 'a@x.example', phone: '1' }
    const client = (await call('POST', '/v2/api/clients', { body })).body
    expect(await create({ clientId: client.id })).toMatchObject({
      subjectName: 'Ada Lovelace',
      subjectEmail: 'a@x.example',
      subjectPhone: '1',
    })
    expect(await create({ clientId: client.id, subjectPhone: '2' })).toMatchObject({
      subjectName: 'Ada Lovelace',
      subjectPhone: '2',
    })
  })

  test('a verification invites its subject, and shares only the agreed fields on approval', async () => {
    const { call, create, act } = await fresh()
    const party = { name: 'Bank', email: 'bank@x.example', sharedFields: ['person', 'accessToken'] }
    const { id, accessToken } = await create({
      requirements: ['person'],
      subjectEmail: 's@x.example',
      thirdParties: [party],
    })
    const outbox = async () => (await call('GET', '/_sandbox/outbox')).body.data
    const [invitation] = await outbox()
    expect(invitation).toMatchObject({ kind: 'invitation', to: 's@x.example' })
    expect(invitation.text).toContain(accessToken)
    await act(id, ['start', 'submit'])
    expect(await outbox()).toHaveLength(1)
    await act(id, ['approve'])
    const shared = (await outbox()).at(-1)
    expect(shared).toMatchObject({ kind: 'shared_result', to: 'bank@x.example' })
    expect(Object.keys(shared.shared)).toEqual(['id', 'status', 'score', 'subjectName', 'person'])
  })

  test('the subject completes a verification on the page that the invitation links to', async () => {
    const { sandbox, call, create } = await fresh()
    await sandbox.listen()
    const made = await create({
      requirements: ['person', 'document'],
      subjectEmail: 's@x.example',
      subjectName: '<b>Ada</b>',
    })
    const [{ link }] = (await call('GET', '/_sandbox/outbox')).body.data
    const page = await fetch(link)
    expect([page.status, page.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringContaining("default-src 'none'"),
    ])
    const first = await page.text()
    expect(first).toMatch(/Step 1 of 2.*name="fullName".*name="dateOfBirth"/s)
    expect(first).not.toContain('<b>Ada')
    const complete = (step: string) =>
      fetch(link, { method: 'POST', body: new URLSearchParams({ step }) })
    const filled = new URLSearchParams({ step: 'person', filled: 'yes', fullName: '"><script>' })
    const refused = await fetch(link, { method: 'POST', body: filled })
    expect(refused.status).toBe(422)
    const again = await refused.text()
    expect(again).toMatch(/value="&quot;&gt;&lt;script&gt;".*Please fill this in/s)
    expect(await (await complete('person')).text()).toMatch(/Step 2 of 2.*name="number"/s)
    expect(await (await complete('all')).text()).toMatch(/submitted/)
    const { body } = await call('GET', `/v2/api/verifications/${made.id}`)
    expect([body.status, body.person.status]).toEqual(['submitted', 'completed'])
    expect((await complete('all')).status).toBe(409)
    expect((await fetch(`${sandbox.url}/verify/nobody`)).status).toBe(404)
  })

  test("the subject's input is the data of its step, also after a restore", async () => {
    const { sandbox, call, create } = await fresh()
    await sandbox.listen()
    const requirements = ['person', 'document', 'consent']
    const made = await create({ requirements, subjectName: 'A. King' })
    const fill = (step: string, fields: Record<string, string>) =>
      fetch(`${sandbox.url}/verify/${made.accessToken}`, {
        method: 'POST',
        body: new URLSearchParams({ step, filled: 'yes', ...fields }),
      })
    await fill('person', { fullName: ' Ada King ', dateOfBirth: '1985-12-10', extra: 'unasked' })
    const long = { type: 'passport', number: 'X'.repeat(201), validUntil: '2031-05-01' }
    expect(await (await fill('document', long)).text()).toMatch(/at most 200 characters/)
    expect((await fill('document', { ...long, type: 'constructor' })).status).toBe(422)
    await fill('document', { ...long, number: 'X1234567' })
    await fill('consent', { agreed: 'yes' })
    const read = async () => (await call('GET', `/v2/api/verifications/${made.id}`)).body
    const given = {
      status: 'submitted',
      person: { status: 'completed', fullName: 'Ada King', dateOfBirth: '1985-12-10' },
      documents: [{ type: 'passport', number: 'X1234567', validUntil: '2031-05-01' }],
      steps: [{}, {}, {}, {}, { step: 'consent', given: { agreed: true } }],
    }
    expect(await read()).toMatchObject(given)
    expect((await read()).person).not.toHaveProperty('extra')
    const { body } = await call('GET', '/_sandbox/snapshot')
    await call('POST', '/_sandbox/reset')
    await call('PUT', '/_sandbox/snapshot', { body })
    expect(await read()).toMatchObject(given)
  })
})

/** The routes of the control plane, as docs/sandbox.md lists them. */
const routes = {
  '/verifications/{id}/actions': 'POST',
  '/clients/{id}': 'PATCH DELETE',
  '/subscriptions': 'GET POST',
  '/subscriptions/{id}': 'GET PATCH DELETE',
  '/subscriptions/{id}/rotate': 'POST',
  '/deliveries': 'GET',
  '/deliveries/{id}': 'GET',
  '/deliveries/{id}/resend': 'POST',
  '/resend': 'POST',
  '/flush': 'POST',
  '/clock': 'GET PUT',
  '/clock/advance': 'POST',
  '/faults': 'GET PUT DELETE',
  '/reset': 'POST',
  '/snapshot': 'GET PUT',
  '/outbox': 'GET',
  '/assumptions': 'GET',
  '/organizations': 'GET',
  '/organizations/{id}': 'PATCH',
  '/api-keys': 'GET POST',
  '/api-keys/{id}/rotate': 'POST',
  '/api-keys/{id}': 'DELETE',
}

describe('the control plane', () => {
  test('a sandbox on loopback answers to names of this machine, and not to pages of other sites', async () => {
    const { sandbox } = await fresh()
    const { port } = await sandbox.listen()
    const status = (headers: Record<string, string>, path = '/_sandbox/clock') =>
      new Promise((resolve, reject) => {
        httpRequest({ port, host: '127.0.0.1', path, headers }, (answer) => {
          answer.resume()
          resolve(answer.statusCode)
        })
          .on('error', reject)
          .end()
      })
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example']) {
      expect(await status({ host: `${host}:${port}` }), host).toBe(403)
    }
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'sandbox.localhost']) {
      expect(await status({ host: `${host}:${port}` }), host).toBe(200)
    }
    const host = `localhost:${port}`
    expect(await status({ host, origin: `http://${host}` })).toBe(200)
    for (const origin of [
      'http://evil.example',
      'null',
      'http://localhost:1',
      `http://127.0.0.1:${port}`,
    ]) {
      expect(await status({ host, origin }), origin).toBe(403)
    }
    // Its keys are well known: a page that rebinds a name must not reach the API or a subject's page.
    const key = { 'x-api-key': 'key_acme' }
    expect(await status({ host, ...key }, '/v2/api/clients')).toBe(200)
    for (const path of ['/v2/api/clients', '/v2/api', '/verify/token', '/']) {
      expect(await status({ host: 'evil.example', ...key }, path), path).toBe(403)
    }
  })

  test('a sandbox answers to the names of its option hosts', async () => {
    const { sandbox } = await fresh({ hosts: ['sandbox'] })
    const { port } = await sandbox.listen({ host: '0.0.0.0' })
    expect(sandbox.url).toBe(`http://127.0.0.1:${port}`)
    const status = async (host: string) =>
      (await sandbox.fetch(`http://127.0.0.1/_sandbox/clock`, { headers: { host } })).status
    expect([await status('sandbox:80'), await status('10.0.0.7:80')]).toEqual([200, 200])
    expect(await status('another:80')).toBe(403)
    // There the API is meant to be reached, by whatever name.
    const headers = { host: 'another:80', 'x-api-key': 'key_acme' }
    expect((await sandbox.fetch('http://127.0.0.1/v2/api/clients', { headers })).status).toBe(200)
  })

  test('a sandbox listens on loopback and any free port by default', async () => {
    const { sandbox } = await fresh()
    const { host, port } = await sandbox.listen()
    expect([host, sandbox.url]).toEqual(['127.0.0.1', `http://127.0.0.1:${port}`])
    const other = await fresh()
    await expect(other.sandbox.listen({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  test('the control plane shows a secret when it is created and on request, and masks it otherwise', async () => {
    const { sandbox, call } = await fresh({
      subscriptions: [{ url: 'http://127.0.0.1:9/', secret: 'a-secret-that-is-long' }],
    })
    const made = await call('POST', '/_sandbox/subscriptions', {
      body: { url: 'http://127.0.0.1:9/', secret: 'another-secret-to-hide' },
    })
    expect([made.status, made.body.secret]).toEqual([201, 'another-secret-to-hide'])
    const path = `/_sandbox/subscriptions/${made.body.id}`
    const texts = [
      (await call('GET', '/_sandbox/subscriptions')).body,
      (await call('GET', path)).body,
      (await call('PATCH', path, { body: { active: false } })).body,
    ].map((body) => JSON.stringify(body))
    for (const text of texts) expect(text).not.toMatch(/a-secret-that-is-long|another-secret-to/)
    expect((await call('GET', `${path}?reveal=true`)).body.secret).toBe('another-secret-to-hide')
    const keys = async (method: string, at: string) => (await call(method, at)).status
    const key = (await call('POST', '/_sandbox/api-keys', { body: { organizationId: 'org_acme' } }))
      .body
    expect(await keys('DELETE', `/_sandbox/api-keys/${key.id}`)).toBe(200)
    expect(await keys('POST', `/_sandbox/api-keys/${key.id}/rotate`)).toBe(404)
    const rotated = await call('POST', `${path}/rotate`)
    expect(rotated.body.secret).not.toBe('another-secret-to-hide')
    const plain = await call('POST', '/_sandbox/subscriptions', {
      body: { url: 'http://127.0.0.1:9/' },
    })
    expect(plain.body.secret).toBe(sandbox.secret)
  })

  test('the control plane rejects a subscription that cannot work', async () => {
    const { call } = await fresh()
    const fields = async (body: Json) => {
      const answer = await call('POST', '/_sandbox/subscriptions', { body })
      return [answer.status, (answer.body.errors ?? []).map(({ field }: Json) => field)]
    }
    expect(await fields({ url: 'ftp://x/' })).toEqual([422, ['url']])
    expect(await fields({ url: 'http://x/', events: ['verification.nothing'] })).toEqual([
      422,
      ['events.0'],
    ])
    expect(await fields({ url: 'http://x/', secret: 'has space' })).toEqual([422, ['secret']])
    expect(await fields({ url: 'http://x/', organizationId: 'org_nobody' })).toEqual([
      422,
      ['organizationId'],
    ])
    expect(
      (await fields({ url: 'http://x/', events: ['request.*', 'client.created', '*'] }))[0],
    ).toBe(201)
  })

  test('the control plane freezes, sets and advances the clock', async () => {
    const { call } = await fresh({ now: () => new Date() })
    expect((await call('GET', '/_sandbox/clock')).body.frozen).toBe(false)
    const body = { now: '2027-01-01T00:00:00.000Z', frozen: true }
    expect((await call('PUT', '/_sandbox/clock', { body })).body).toEqual(body)
    const moved = await call('POST', '/_sandbox/clock/advance', { body: { days: 1, seconds: 1 } })
    expect(moved.body.now).toBe('2027-01-02T00:00:01.000Z')
    expect((await call('POST', '/_sandbox/clock/advance', { body: {} })).status).toBe(422)
    expect((await call('POST', '/_sandbox/clock/advance', { body: { days: -1 } })).status).toBe(422)
    const freed = await call('PUT', '/_sandbox/clock', { body: { frozen: false } })
    expect(Date.parse(freed.body.now)).toBeGreaterThanOrEqual(Date.parse(moved.body.now))
  })

  test('expiries and retries happen in the order of time while the clock moves', async () => {
    const seen: string[] = []
    let fail = true
    const { sandbox, create } = await fresh({
      subscriptions: [{ url: 'http://127.0.0.1:9/' }],
      fetch: async (input) => {
        const { event, data } = await (input as Request).json()
        seen.push(`${event} ${data.subjectName} ${sandbox.clock.now().toISOString()}`)
        return new Response(null, { status: event === 'verification.created' && fail ? 500 : 200 })
      },
    })
    await create({ expiresDays: 2, subjectName: 'two' })
    await sandbox.flush()
    await sandbox.clock.advance({ seconds: 5 })
    fail = false
    await create({ expiresDays: 1, subjectName: 'one' })
    await sandbox.flush()
    await sandbox.clock.advance({ days: 3 })
    expect(seen).toEqual([
      'verification.created two 2026-03-01T10:00:00.000Z',
      'verification.created two 2026-03-01T10:00:05.000Z',
      'verification.created one 2026-03-01T10:00:05.000Z',
      'verification.created two 2026-03-01T10:00:35.000Z',
      'verification.expired one 2026-03-02T10:00:05.000Z',
      'verification.expired two 2026-03-03T10:00:00.000Z',
    ])
  })

  test('the control plane streams what happens', async () => {
    const { sandbox, create } = await fresh({ subscriptions: [{ url: 'http://127.0.0.1:9/' }] })
    const { url } = await sandbox.listen()
    const events = await createEventSource(`${url}/_sandbox/events`)
    closing.push(events.close)
    await create({ subjectName: 'Ada' })
    const happened = await events.until('delivery')
    expect(happened.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['verification', 'verification.created', 'delivery']),
    )
    const { id } = sandbox.deliveries.subscriptions.create({ url: 'http://127.0.0.1:9/' })
    sandbox.deliveries.subscriptions.remove(id)
    await events.until('subscription')
    const after = await events.until('subscription')
    expect(after.at(-1)?.data).toEqual({ id, removed: true })
    const streamed = JSON.stringify(after)
    expect(streamed).not.toContain(sandbox.secret)
  })

  test('every documented route answers, and other methods and paths are rejected in the error form', async () => {
    const { call } = await fresh()
    for (const [path, served] of Object.entries(routes)) {
      const at = `/_sandbox${path.replace('{id}', 'x')}`
      const methods = served.split(' ')
      for (const method of methods) {
        const { status } = await call(method, at, method === 'GET' ? {} : { body: {} })
        expect(status, `${method} ${at}`).not.toBe(405)
        expect(status, `${method} ${at}`).toBeLessThan(500)
      }
      const other = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].find((one) => !methods.includes(one))
      if (!other) continue
      const refused = await call(other, at)
      expect([refused.status, refused.body.code], `${other} ${at}`).toEqual([
        405,
        'METHOD_NOT_ALLOWED',
      ])
      for (const method of methods) expect(refused.headers.get('allow')).toContain(method)
    }
    expect((await call('GET', '/_sandbox/nothing')).status).toBe(404)
  })
})
