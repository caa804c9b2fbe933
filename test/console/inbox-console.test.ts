import { once } from 'node:events'
import { createServer, request as httpRequest, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, createServer as createTcpServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { PGlite } from '@electric-sql/pglite'
import middie from '@fastify/middie'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createReceiver, createWorker } from 'idv-webhooks'
import { type InboxConsoleOptions, inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fromPglite, postgresStore } from 'idv-webhooks/inbox/postgres'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { signedDelivery } from 'idv-webhooks/testing'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { temporaryFile } from '../inbox/temporary.ts'
import { ended, http2Server, listening, overHttp2 } from './listening.ts'

const secret = 'a-secret-for-tests'
const closing: (() => unknown)[] = []

afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0).reverse()) await close()
})

async function filled() {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const id = '2f0c8f5e-0000-4000-8000-000000000001'
  const data = { id, subjectName: 'Canary', documents: [{ id: 'QQ123456C' }], score: 41 }
  const body = JSON.stringify({ id: 'evt_1', event: 'verification.approved', data })
  await receiver.receive(await signedDelivery(body, { secret }))
  const entry = (await inbox.find()).entries[0]?.id ?? ''
  return { inbox, entry, entity: `verification:${id}` }
}

/** When a client leaves: milliseconds that the app and the console take. */
interface Leaving {
  readonly before?: number
  readonly authorize?: number
  readonly queued?: boolean
  readonly http2?: boolean
}

type Send = (path: string, init?: RequestInit) => Promise<Response>

/** A client like the pages: it loads the page, keeps its cookie and sends its token. */
async function session(send: Send) {
  const page = await send('/')
  expect(page.status).toBe(200)
  const html = (await page.text()).replaceAll('&quot;', '"')
  const token = /"token":"([\w-]+)"/.exec(html)?.[1] ?? ''
  const base = /"base":"([^"]*)"/.exec(html)?.[1]
  const cookie = page.headers.get('set-cookie')?.split(';')[0] ?? ''
  const post = (path: string, body?: object) =>
    send(path, {
      method: 'POST',
      headers: {
        cookie,
        'x-console-token': token,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  return { post, base, token, cookie }
}

describe('mounted in', () => {
  const listen = async (server: ReturnType<typeof createServer>) => {
    closing.push(() => ended(server))
    return listening(server)
  }
  type Made = Awaited<ReturnType<typeof filled>>
  const mounts: readonly (readonly [string, (made: Made) => Promise<Send>])[] = [
    [
      'Express, behind express.json()',
      async ({ inbox }) => {
        const { node } = inboxConsole(inbox, { authorize: () => true })
        const url = await listen(createServer(express().use(express.json()).use('/inbox', node)))
        return (path, init) => fetch(`${url}/inbox${path}`, init)
      },
    ],
    [
      'Fastify',
      async ({ inbox }) => {
        const console = inboxConsole(inbox, { authorize: () => true, basePath: '/inbox' })
        const app = fastify()
        app.all('/inbox/*', (request, reply) => {
          reply.hijack()
          return console.node(Object.assign(request.raw, { body: request.body }), reply.raw)
        })
        const url = await app.listen({ port: 0, host: '127.0.0.1' })
        closing.push(() => app.close())
        return (path, init) => fetch(`${url}/inbox${path}`, init)
      },
    ],
    [
      'Hono, and any runtime of Request and Response',
      async ({ inbox }) => {
        const console = inboxConsole(inbox, { authorize: () => true, basePath: '/inbox' })
        const app = new Hono().all('/inbox/*', (context) => console.fetch(context.req.raw))
        return async (path, init) => app.request(`http://app.test/inbox${path}`, init)
      },
    ],
    [
      'Next.js, whose handler gets the whole address',
      async ({ inbox }) => {
        const console = inboxConsole(inbox, { authorize: () => true, basePath: '/inbox' })
        return (path, init) => console.fetch(new Request(`http://app.test/inbox${path}`, init))
      },
    ],
    [
      'node:http',
      async ({ inbox }) => {
        const url = await listen(createServer(inboxConsole(inbox, { authorize: () => true }).node))
        return (path, init) => fetch(url + path, init)
      },
    ],
    [
      'middie, as NestJS over Fastify has it, which names no mount',
      async ({ inbox }) => {
        const { node } = inboxConsole(inbox, { authorize: () => true })
        const app = fastify()
        await app.register(middie)
        app.use('/inbox', node)
        const url = await app.listen({ port: 0, host: '127.0.0.1' })
        closing.push(() => app.close())
        expect((await fetch(`${url}/inbox?x=1`)).status).toBe(200)
        return (path, init) => fetch(`${url}/inbox${path}`, init)
      },
    ],
    [
      'Express, behind a parser that keeps the bytes',
      async ({ inbox }) => {
        const { node } = inboxConsole(inbox, { authorize: () => true })
        const app = express().use(express.raw({ type: () => true }))
        const url = await listen(createServer(app.use('/inbox', node)))
        return (path, init) => fetch(`${url}/inbox${path}`, init)
      },
    ],
    [
      'Express 4, whose parsers of other types set an empty body and read nothing',
      async ({ inbox }) => {
        const { node } = inboxConsole(inbox, { authorize: () => true })
        const app = express().use((request, _, next) => {
          request.body = {}
          next()
        })
        const url = await listen(createServer(app.use('/inbox', node)))
        return (path, init) => fetch(`${url}/inbox${path}`, init)
      },
    ],
    [
      'node:http2',
      async ({ inbox }) => {
        const { node } = inboxConsole(inbox, { authorize: () => true })
        const { send, close } = await overHttp2((request, response) =>
          node(request as never, response as never),
        )
        closing.push(close)
        return send
      },
    ],
  ]

  test.each(mounts)('%s', async (_, mount) => {
    const made = await filled()
    const send = await mount(made)
    const { post, base } = await session(send)
    expect((await send('/console.js')).headers.get('content-type')).toMatch(/javascript/)
    expect(base === '' || base === '/inbox').toBe(true)
    expect((await (await send('/api/entries')).json()).items).toHaveLength(1)
    const masked = await (await send(`/api/entries/${made.entry}`)).text()
    expect(masked).not.toMatch(/Canary|QQ123456C/)
    const revealed = await (await post(`/api/entries/${made.entry}/reveal`)).json()
    expect(Buffer.from(revealed.body, 'base64').toString()).toContain('Canary')
    const forgotten = await post('/api/forget', { entity: made.entity })
    expect([forgotten.status, await forgotten.json()]).toEqual([200, { entries: 1 }])
    const { data } = await (await send('/api/activity')).json()
    expect(data.map(({ action }: { action: string }) => action)).toEqual(['forget', 'reveal'])
  })
})

test.each([
  // An error that some hosts cannot write, because it is nested too deeply.
  ['left what cannot be written', { id: 1n }],
  ['left nothing', undefined],
])('behind a parser that %s, no request rejects the listener', async (_, body) => {
  const { inbox } = await filled()
  const { node } = inboxConsole(inbox, { authorize: () => false })
  const settled: Promise<unknown>[] = []
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      settled.push(node(Object.assign(request, { body }), response))
    })
  })
  closing.push(() => ended(server))
  const url = await listening(server)
  const answer = await fetch(`${url}/api/redrive`, { method: 'POST', body: '{}' })
  expect(answer.status).toBe(403)
  await expect(Promise.all(settled)).resolves.toEqual([undefined])
})

test('a redrive must name its entries, so that a body that a parser emptied does not mean all of them', async () => {
  const { inbox } = await filled()
  const { fetch } = inboxConsole(inbox, { authorize: () => true })
  const { post } = await session((path, init) => fetch(new Request(`http://app.test${path}`, init)))
  const bodies = [undefined, {}, { search: 'a' }, { state: 'done' }, { state: 'dead', name: ['a'] }]
  const buffer = JSON.parse(JSON.stringify(Buffer.from('{"state":"dead"}')))
  for (const body of [...bodies, buffer, { state: 'dead', nmae: 'a' }]) {
    const response = await post('/api/redrive', body)
    expect([response.status, (await response.json()).code]).toEqual([400, 'BAD_REQUEST'])
  }
  expect((await post('/api/redrive', { state: 'dead', name: 'a' })).status).toBe(200)
})

test("flags and a customer's own fields are masked, also words under the names of known fields", async () => {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const metadata = {
    pepMatch: true,
    kind: 'pregnant',
    Ann_Lee: 1,
    nested: [{ status: 'deceased' }],
  }
  const people = { documents: { P4821337: 1 }, Zephyrine_Quill: 1, QQ123456C: 1 }
  const data = { id: 'ver_1', status: 'approved', active: true, riskHit: true, metadata, ...people }
  const body = JSON.stringify({ id: 'evt_1', event: 'verification.approved', data })
  await receiver.receive(await signedDelivery(body, { secret }))
  const { fetch } = inboxConsole(inbox, { authorize: () => true })
  const id = (await inbox.find()).entries[0]?.id
  const { shape } = await (await fetch(new Request(`http://a.test/api/entries/${id}`))).json()
  expect(shape.data).toMatchObject({ id: 'ver_1', status: 'approved', active: true })
  expect(JSON.stringify(shape)).not.toMatch(
    /pregnant|deceased|Ann_Lee|pepMatch|P48|Zephyr|QQ1|:1|true.*true/,
  )
})

test('a body that is too long to be masked at each look is told by its length', async () => {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const data = { id: 'ver_1', list: Array.from({ length: 150_000 }, () => 1) }
  const body = JSON.stringify({ id: 'evt_1', event: 'verification.approved', data })
  await receiver.receive(await signedDelivery(body, { secret }))
  const { fetch } = inboxConsole(inbox, { authorize: () => true })
  const id = (await inbox.find()).entries[0]?.id
  const { shape } = await (await fetch(new Request(`http://a.test/api/entries/${id}`))).json()
  expect(shape).toBe(`${body.length} bytes, too many to be shown masked`)
})

test('words of objects that the service does not have are masked, under known names too', async () => {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const person = {
    status: 'deceased',
    type: 'refugee',
    kind: 'pregnant',
    actor: 'maria',
    score: 97,
  }
  const watchlist = [{ event: 'sanctions.hit', outcome: 'PEP_match', code: 'HIV_positive' }]
  const data = { id: 'ver_1', status: 'approved', requirements: ['document'], person, watchlist }
  const body = JSON.stringify({ id: 'evt_1', event: 'verification.approved', data })
  await receiver.receive(await signedDelivery(body, { secret }))
  const { fetch } = inboxConsole(inbox, { authorize: () => true })
  const id = (await inbox.find()).entries[0]?.id
  const { shape } = await (await fetch(new Request(`http://a.test/api/entries/${id}`))).json()
  const dots = '••••••'
  expect(shape.data).toStrictEqual({
    id: 'ver_1',
    status: 'approved',
    requirements: ['document'],
    person: { status: dots, type: dots, [`${dots}3`]: dots, [`${dots}4`]: dots, score: dots },
    [`${dots}5`]: [{ event: dots, [`${dots}2`]: dots, code: dots }],
  })
})

test('words about a person are masked at documented places too', async () => {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const told = { actor: 'jane.doe', action: 'vomits', event: 'mary.smith', name: 'ann.lee' }
  const more = { outcome: 'Diabetic', code: 'HIV', kind: 'pregnant', transport: 'ambulance' }
  const words = { type: 'hiv_positive', status: 'diabetic', currentStep: 'weeping', step: 'ill' }
  // The document shows no field of an entry: a step that was rejected says why.
  const step = { action: 'reject', actor: 'operator', status: 'rejected', step: 'pep_hio' }
  const client = { memberType: 'muslim', name: 'client.jane_doe' }
  const data = {
    id: 'ver_1',
    ...words,
    steps: [{ ...told, ...more }, step, words],
    client,
    thirdParties: [told],
  }
  const body = JSON.stringify({ id: 'evt_1', event: 'verification.approved', data })
  await receiver.receive(await signedDelivery(body, { secret }))
  const { fetch } = inboxConsole(inbox, { authorize: () => true })
  const id = (await inbox.find()).entries[0]?.id
  const { shape } = await (await fetch(new Request(`http://a.test/api/entries/${id}`))).json()
  expect(shape).toMatchObject({ event: 'verification.approved', data: { id: 'ver_1' } })
  expect(JSON.stringify(shape)).not.toMatch(
    /jane|vomits|mary|ann\.lee|Diabetic|HIV|pregnant|ambulance|positive|diabetic|weeping|ill"|muslim|reject|pep_hio/,
  )
})

test('forgetting a person without a tenant does not touch the people of tenants', async () => {
  const inbox = createInbox({ store: memoryStore() })
  const secrets = [{ value: secret }, { value: `${secret}-globex`, tenant: 'globex' }]
  const receiver = createReceiver({ secret: secrets, inbox, observe: () => {} })
  const { fetch } = inboxConsole(inbox, { authorize: () => true })
  const { post } = await session((path, init) => fetch(new Request(`http://app.test${path}`, init)))
  const forget = (body: object) => post('/api/forget', { entity: 'client:1001', ...body })
  for (const { value } of secrets) {
    const event = { id: value, event: 'client.created', data: { id: '1001' } }
    await receiver.receive(await signedDelivery(event, { secret: value }))
  }
  expect(await (await forget({ tenant: null })).json()).toEqual({ entries: 1 })
  expect((await inbox.find({ tenant: 'globex' })).entries).toMatchObject([{ state: 'stored' }])
  expect((await forget({ tenant: 7 })).status).toBe(400)
  expect(await (await forget({})).json()).toEqual({ entries: 1 })
})

test('over Postgres, as PGlite has it, everything is the same', async () => {
  const db = new PGlite()
  const inbox = createInbox({ store: postgresStore(fromPglite(db)), retry: { attempts: 1 } })
  closing.push(
    () => db.close(),
    () => inbox.close(),
  )
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  let broken = true
  receiver.on('*', () => {
    if (broken) throw new Error('away')
  })
  for (const at of [1, 2]) {
    const data = { id: `2f0c8f5e-0000-4000-8000-00000000000${at}`, subjectName: 'Canary' }
    const body = JSON.stringify({ id: `evt_${at}`, event: 'verification.approved', data })
    await receiver.receive(await signedDelivery(body, { secret }))
  }
  const worker = createWorker(receiver)
  await worker.runOnce()
  const { fetch } = inboxConsole(inbox, { authorize: () => 'grace' })
  const send: Send = (path, init) => fetch(new Request(`http://app.test${path}`, init))
  const read = async (path: string) => (await send(`/api${path}`)).json()
  const { post } = await session(send)
  const overview = { stats: { dead: 2, done: 0, latency: { handlers: [] } } }
  expect(await read('/overview')).toMatchObject(overview)
  // A span that is none, whatever objects inherit.
  expect((await read('/overview?span=toString')).history).toEqual((await read('/overview')).history)
  const [entry] = (await read('/entries?search=evt_2')).items
  expect(entry).toMatchObject({ state: 'dead', reason: 'HANDLER_FAILED' })
  expect(JSON.stringify(await read(`/entries/${entry.id}`))).not.toContain('Canary')
  const revealed = await (await post(`/api/entries/${entry.id}/reveal`)).json()
  expect(Buffer.from(revealed.body, 'base64').toString()).toContain('Canary')
  broken = false
  expect(await (await post('/api/redrive', { state: 'dead', search: 'evt_2' })).json()).toEqual({
    entries: 1,
  })
  await worker.runOnce()
  expect((await read('/overview')).stats).toMatchObject({ dead: 1, done: 1 })
  const { data } = await read('/activity')
  expect(data).toMatchObject([
    { action: 'redrive', what: '1 entry', by: 'grace' },
    { action: 'reveal', what: entry.id, by: 'grace' },
  ])
})

describe('access', () => {
  test('there is no console without authorize, nor one for everybody in production', async () => {
    const { inbox } = await filled()
    const make = (options: unknown) => () => inboxConsole(inbox, options as InboxConsoleOptions)
    expect(make({})).toThrow(/`authorize` is required/)
    expect(make({ authorize: true })).toThrow(/authorize/)
    expect(make({ authorize: 'loopback', readonly: true })).toThrow(/readOnly/)
    vi.stubEnv('NODE_ENV', 'production')
    expect(make({ authorize: 'loopback' })).toThrow(/must be a function in production/)
  })

  test('a user who is rejected, or whose check fails, sees nothing of it', async () => {
    const { inbox, entry } = await filled()
    const of = (authorize: InboxConsoleOptions['authorize']) => inboxConsole(inbox, { authorize })
    for (const path of [
      '/',
      '/api/entries',
      `/api/entries/${entry}`,
      '/console.js',
      '/api/events',
    ]) {
      const request = () => new Request(`http://app.test${path}`)
      expect((await of(() => false).fetch(request())).status, path).toBe(403)
      expect((await of(() => '').fetch(request())).status, path).toBe(403)
      for (const fail of [
        () => Promise.reject(new Error('down')),
        () => {
          throw new Error('down')
        },
      ]) {
        const failing = await of(fail).fetch(request())
        expect([path, failing.status]).toEqual([path, 503])
        const text = await failing.text()
        expect(text).toContain('AUTHORIZE_FAILED')
        expect(text).not.toMatch(/down|Canary|token/)
      }
    }
  })

  test('a person who is refused reads why on a page', async () => {
    const { inbox } = await filled()
    const { fetch } = inboxConsole(inbox, { authorize: () => false })
    const request = new Request('http://app.test/', { headers: { accept: 'text/html' } })
    const refused = await fetch(request)
    expect([refused.status, refused.headers.get('content-type')]).toEqual([
      403,
      'text/html; charset=utf-8',
    ])
    const said = 'You are not allowed to see this inbox: sign in to the application first'
    expect(await refused.text()).toContain(`<h1>${said}; its option \`authorize\` decides</h1>`)
    const other = await fetch(new Request('http://app.test/'))
    expect((await other.json()).message).toContain(said)
  })

  test('a proxy that forwards another host is no obstacle', async () => {
    const { inbox, entry } = await filled()
    const { fetch } = inboxConsole(inbox, { authorize: () => true })
    const send: Send = (path, init) => fetch(new Request(`http://upstream:8080${path}`, init))
    const { token, cookie } = await session(send)
    const status = async (headers: Record<string, string>) => {
      const all = { cookie, 'x-console-token': token, origin: 'https://app.example', ...headers }
      return (await send(`/api/entries/${entry}/reveal`, { method: 'POST', headers: all })).status
    }
    expect(await status({ 'sec-fetch-site': 'same-origin' })).toBe(200)
    expect(await status({ 'sec-fetch-site': 'same-site' })).toBe(403)
    expect(await status({ 'sec-fetch-site': 'none' })).toBe(403)
    expect(await status({})).toBe(403)
  })

  test('a change needs the token of the page, and to come from it', async () => {
    const { inbox, entry } = await filled()
    const { fetch } = inboxConsole(inbox, { authorize: () => true })
    const send: Send = (path, init) => fetch(new Request(`http://app.test${path}`, init))
    const { token, cookie } = await session(send)
    const status = async (headers: Record<string, string>) =>
      (await send(`/api/entries/${entry}/reveal`, { method: 'POST', headers })).status
    const whole = { cookie, 'x-console-token': token }
    expect(await status({})).toBe(403)
    expect(await status({ cookie })).toBe(403)
    expect(await status({ 'x-console-token': token })).toBe(403)
    expect(await status({ ...whole, origin: 'http://evil.test' })).toBe(403)
    expect(await status({ ...whole, 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await status({ ...whole, origin: 'http://app.test' })).toBe(200)
    expect((await session(send)).token).not.toBe(token)
  })

  test('a page of another site has nothing read for it', async () => {
    const { inbox } = await filled()
    const { fetch } = inboxConsole(inbox, { authorize: () => true })
    const status = async (site: string, path = '/api/overview') => {
      const headers = { 'sec-fetch-site': site }
      return (await fetch(new Request(`http://app.test${path}`, { headers }))).status
    }
    for (const path of ['/api/overview', '/api/entries?search=a', '/api/events']) {
      expect(await status('cross-site', path), path).toBe(403)
    }
    expect(await status('same-site')).toBe(403)
    expect([await status('same-origin'), await status('none')]).toEqual([200, 200])
    expect(await status('cross-site', '/')).toBe(200)
  })

  test("'loopback' goes by the name that HTTP/2 asks under", async () => {
    const { inbox } = await filled()
    const { node } = inboxConsole(inbox, { authorize: 'loopback' })
    const { send, close } = await overHttp2((request, response) =>
      node(request as never, response as never),
    )
    closing.push(close)
    const status = async (authority: string, host?: string) =>
      (await send('/', { headers: { ':authority': authority, ...(host && { host }) } })).status
    expect(await status('localhost:3000')).toBe(200)
    expect(await status('evil.example')).toBe(403)
    expect(await status('evil.example', 'localhost:3000')).toBe(403)
  })

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((one) => one && !one.internal && one.family === 'IPv4')?.address

  test.runIf(outside)("'loopback' refuses and warns when it is reached from outside", async () => {
    const { inbox } = await filled()
    const { node } = inboxConsole(inbox, { authorize: 'loopback' })
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const ended: Promise<void>[] = []
    const server = createServer((request, response) => ended.push(node(request, response)))
    await new Promise<void>((ready) => server.listen(0, '0.0.0.0', ready))
    closing.push(() => server.close())
    const { port } = server.address() as AddressInfo
    const status = () =>
      new Promise((resolve) => {
        const headers = { host: 'localhost' }
        httpRequest({ host: outside, port, headers }, (answer) => resolve(answer.statusCode)).end()
      })
    expect([await status(), await status()]).toEqual([403, 403])
    // Rejected, it would end a process whose server leaves the promise alone.
    await Promise.all(ended)
    const codes = warned.mock.calls.map(([, options]) => (options as { code: string }).code)
    warned.mockRestore()
    expect(codes).toEqual(['IDV_CONSOLE_NOT_LOOPBACK'])
  })
})

describe('an audit log of the user', () => {
  const withLog = async (onActivity: InboxConsoleOptions['onActivity']) => {
    const { inbox, entry, entity } = await filled()
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    closing.push(() => warned.mockRestore())
    const { fetch } = inboxConsole(inbox, { authorize: () => 'jane', onActivity })
    const { post } = await session((path, init) =>
      fetch(new Request(`http://app.test${path}`, init)),
    )
    return { inbox, entry, entity, post, warned }
  }

  test.each([
    ['rejects', () => Promise.reject(new Error('the audit database is down'))],
    [
      'throws',
      () => {
        throw new TypeError('the audit database is down')
      },
    ],
  ])('that %s refuses a reveal, and undoes no change', async (_, onActivity) => {
    const { entry, entity, post, warned } = await withLog(onActivity)
    const reveal = await post(`/api/entries/${entry}/reveal`)
    expect([reveal.status, await reveal.json()]).toMatchObject([503, { code: 'ACTIVITY_FAILED' }])
    const forgotten = await post('/api/forget', { entity })
    expect([forgotten.status, await forgotten.json()]).toEqual([200, { entries: 1 }])
    await expect
      .poll(() => warned.mock.calls.map(([, one]) => (one as { code: string }).code))
      .toEqual(['IDV_OBSERVE_FAILED'])
  })

  test('is waited for before anything of a person is read', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { inbox, entry, post } = await withLog(() => promise)
    const read = vi.spyOn(inbox, 'get')
    const answer = post(`/api/entries/${entry}/reveal`)
    await new Promise((turn) => setTimeout(turn, 20))
    expect(read.mock.calls.some(([, options]) => options?.withDelivery === true)).toBe(false)
    resolve()
    expect((await answer).status).toBe(200)
  })
})

test('no answer about an entry may be cached, and a malformed id is not found', async () => {
  const { inbox, entry } = await filled()
  const { fetch } = inboxConsole(inbox, { authorize: () => true })
  for (const path of ['/api/entries', `/api/entries/${entry}`, '/api/overview', '/api/none']) {
    const { headers } = await fetch(new Request(`http://localhost${path}`))
    expect(headers.get('cache-control'), path).toBe('no-store')
  }
  expect((await fetch(new Request('http://localhost/api/entries/%ff'))).status).toBe(404)
})

test('a malformed request is answered or dropped, and does not end the process', async () => {
  const { inbox } = await filled()
  const { node } = inboxConsole(inbox, { authorize: () => false })
  const ended: Promise<void>[] = []
  const server = createServer((request, response) => ended.push(node(request, response)))
  closing.push(() => server.close())
  const { port } = new URL(await listening(server))
  const send = (text: string, hangUp = false) =>
    new Promise<string>((resolve) => {
      let answer = ''
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('data', (data) => {
        answer += data
        socket.destroy()
      })
      socket.on('close', () => resolve(answer.slice(9, 12)))
      socket.write(text, () => hangUp && setTimeout(() => socket.destroy(), 20))
    })
  expect(await send('GET // HTTP/1.1\r\nHost: localhost\r\n\r\n')).toBe('403')
  expect(await send('OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n')).toBe('400')
  expect(await send('GET http://a.test/b HTTP/1.1\r\nHost: localhost\r\n\r\n')).toBe('403')
  expect(await send('GET / HTTP/1.1\r\nHost: [\r\n\r\n')).toBe('400')
  expect(await send('GET / HTTP/1.1\r\nHost: localhost/x?\r\n\r\n')).toBe('400')
  expect(await send('TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n')).toBe('404')
  const half = 'POST /api/forget HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{'
  // Nothing of it is read before they are admitted.
  expect(await send(half, true)).toBe('403')
  expect(ended).toHaveLength(7)
  await Promise.all(ended)
})

test('an open tab ends with its inbox, and leaves that to the next owner', async () => {
  const file = temporaryFile()
  const inbox = createInbox({ store: sqliteStore(file) })
  const server = createServer(inboxConsole(inbox, { authorize: () => true, interval: 100 }).node)
  const url = await listening(server)
  closing.push(() => ended(server))
  const tab = await fetch(`${url}/api/events`)
  const reader = tab.body?.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; !text.includes('event: stats'); ) {
    text += decoder.decode((await reader?.read())?.value)
  }
  await inbox.close()
  while (!(await reader?.read())?.done) {}
  // As its page does, which connects again by itself.
  const again = await fetch(`${url}/api/events`)
  expect([again.status, await again.json()]).toEqual([
    503,
    { code: 'STORE_UNAVAILABLE', message: 'The inbox is closed', statusCode: 503 },
  ])
  const successor = createInbox({ store: sqliteStore(file) })
  await successor.open()
  await successor.close()
  expect(inbox.isClosed).toBe(true)
  // A console with less protection than this is open to every client.
  expect((await fetch(`${url}/api/overview`)).status).toBe(200)
  expect(inbox.isClosed).toBe(false)
  const live = await fetch(`${url}/api/events`)
  expect(live.status).toBe(200)
  await live.body?.cancel()
  await inbox.close()
})

test('a server that closes ends its open tabs, so that an app can drain afterwards', async () => {
  const { inbox } = await filled()
  const app = fastify()
  const { node } = inboxConsole(inbox, { authorize: () => true, basePath: '/inbox' })
  app.all('/inbox/*', (request, reply) => {
    reply.hijack()
    return node(Object.assign(request.raw, { body: request.body }), reply.raw)
  })
  const closed = vi.fn()
  app.addHook('onClose', async () => closed())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const tab = await fetch(`${url}/inbox/api/events`)
  const reading = tab.text()
  await app.close()
  expect(closed).toHaveBeenCalledOnce()
  expect(await reading).toContain(': watching')
})

test.each([
  ['an open tab', 'GET', '/api/events', 200],
  ['a stranger’s unfinished body', 'POST', '/api/forget', 403],
])('over HTTP/2 %s lets a server close, and ends no process', async (_, method, path, status) => {
  const { inbox } = await filled()
  const { node } = inboxConsole(inbox, { authorize: () => method === 'GET', interval: 100 })
  const { server, session } = await http2Server((request, response) =>
    node(request as never, response as never),
  )
  const stream = session.request({ ':method': method, ':path': path })
  if (method === 'POST') stream.write('{')
  const [head] = await once(stream, 'response')
  expect(head[':status']).toBe(status)
  stream.resume()
  if (method === 'POST') session.close()
  await new Promise<void>((closed) => server.close(() => closed()))
})

test.each([
  ['before the console is asked', { before: 30 }],
  ['while it is', { authorize: 30 }],
  ['in a pipeline', { authorize: 30, queued: true }],
  ['over HTTP/2 while it is', { authorize: 30, http2: true }],
])('nothing waits for a client who has left %s', async (_, setting) => {
  const { before = 0, authorize = 0, queued = false, http2 = false } = setting as Leaving
  const { inbox } = await filled()
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  const { node } = inboxConsole(inbox, {
    authorize: () => wait(authorize).then(() => false),
  })
  const finished: Promise<void>[] = []
  const listener = async (...[request, response]: Parameters<typeof node>) => {
    await wait(before)
    // Node 22 tells an answer nothing that waits behind another: it has no socket yet.
    finished.push(node(request, queued ? new ServerResponse(request) : response))
  }
  if (http2) {
    const { server, session } = await http2Server((request, response) =>
      listener(request as never, response as never),
    )
    closing.push(() => server.close())
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {})
    await wait(15)
    stream.close(8)
    closing.push(() => session.destroy())
  } else {
    const server = createServer(listener)
    closing.push(() => server.close())
    const { port } = new URL(await listening(server))
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await wait(15)
    socket.destroy()
  }
  await vi.waitFor(() => expect(finished).toHaveLength(1))
  await finished[0]
})

test('a body that was read and left nowhere is empty', async () => {
  const { inbox } = await filled()
  const { node } = inboxConsole(inbox, { authorize: () => true })
  const app = express().use((request, _, next) => void request.once('end', next).resume(), node)
  const server = createServer(app)
  closing.push(() => ended(server))
  const url = await listening(server)
  const { post } = await session((path, init) => fetch(url + path, init))
  const answer = await post('/api/forget', { entity: 'client:1' })
  expect([answer.status, (await answer.json()).message]).toEqual([
    400,
    expect.stringContaining('entity'),
  ])
})

test('a tab has to ask again after five minutes, and authorize with it', async () => {
  const { inbox } = await filled()
  const { fetch } = inboxConsole(inbox, { authorize: () => true })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const tab = await fetch(new Request('http://app.test/api/events'))
  // A proxy that compresses or buffers would keep the events back.
  expect(tab.headers.get('cache-control')).toBe('no-store, no-transform')
  expect(tab.headers.get('x-accel-buffering')).toBe('no')
  let isOver = false
  const reading = tab.text().finally(() => {
    isOver = true
  })
  await vi.advanceTimersByTimeAsync(299_000)
  expect(isOver).toBe(false)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await reading).toContain('event: stats')
})

test('a server that is handed its connections keeps its tabs open', async () => {
  const { inbox } = await filled()
  const inner = createServer(inboxConsole(inbox, { authorize: () => true, interval: 100 }).node)
  const outer = createTcpServer((socket) => void inner.emit('connection', socket))
  await new Promise<void>((ready) => outer.listen(0, '127.0.0.1', ready))
  const { port } = outer.address() as AddressInfo
  const left = new AbortController()
  closing.push(
    () => outer.close(),
    () => left.abort(),
  )
  const tab = await fetch(`http://127.0.0.1:${port}/api/events`, { signal: left.signal })
  const reader = tab.body?.getReader()
  const decoder = new TextDecoder()
  // More than a second of them.
  for (let seen = 0; seen < 15; ) {
    const { value, done } = (await reader?.read()) ?? {}
    expect(done).toBe(false)
    seen += decoder.decode(value).split('event: stats').length - 1
  }
})
