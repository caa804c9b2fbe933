import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { runInNewContext } from 'node:vm'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { type BodyReading, createReceiver, type Observation, sign } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { toNextPages } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import serverless from 'serverless-http'
import { afterEach, describe, expect, test } from 'vitest'

const secret = 'consumed-secret'
const body = '{ "event": "verification.approved", "data": { "id": "ver_1" } }'

const closing: Server[] = []
afterEach(() => {
  for (const server of closing.splice(0)) server.close()
})

function fresh() {
  const seen: Observation[] = []
  const handled: string[] = []
  const receiver = createReceiver({ secret, observe: (one) => seen.push(one) })
  receiver.on('verification.approved', (event) => handled.push(event.data.id))
  return { receiver, seen, handled }
}

test('a request that serverless-http makes of an event of Lambda is verified', async () => {
  const { receiver, handled } = fresh()
  const app = express()
  app.post('/webhooks', toExpress(receiver))
  const headers = { host: 'app.test', ...(await sign(body, { secret })) }
  const http = { method: 'POST', path: '/webhooks', sourceIp: '203.0.113.9' }
  const event = { version: '2.0', rawPath: '/webhooks', requestContext: { http }, headers, body }
  expect(await serverless(app)(event, {})).toMatchObject({ statusCode: 200 })
  expect(handled).toEqual(['ver_1'])
})

async function post(listener: RequestListener) {
  const server = createServer(listener)
  closing.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
  const reply = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body, headers })
  return {
    status: reply.status,
    retryAfter: reply.headers.get('retry-after'),
    body: await reply.json(),
  }
}

const consumed = {
  status: 503,
  retryAfter: expect.stringMatching(/^\d+$/),
  body: { code: 'BODY_CONSUMED', message: expect.any(String), statusCode: 503 },
}

describe('a body that an earlier parser consumed', () => {
  test.each([
    ['express 5', express],
    ['express 4', express4],
  ])('is 503 in %s and tells the operator the fix', async (_, make) => {
    const { receiver, seen, handled } = fresh()
    const app = make().use(make.json()).post('/webhooks', toExpress(receiver))
    expect(await post(app)).toEqual(consumed)
    expect(handled).toEqual([])
    expect(seen).toMatchObject([
      { kind: 'failed', code: 'BODY_CONSUMED', message: expect.stringContaining('express.json()') },
    ])
  })

  test('is 503 over node:http', async () => {
    const { receiver, seen } = fresh()
    const listener = toNode(receiver)
    const reply = await post(async (request, response) => {
      for await (const _ of request);
      await listener(request, response)
    })
    expect(reply).toEqual(consumed)
    expect(seen).toMatchObject([{ message: expect.stringContaining('WebhookModule') }])
  })

  test('is 503 when a parser decodes the stream to text', async () => {
    const { receiver } = fresh()
    const listener = toNode(receiver)
    const reply = await post(async (request, response) => {
      request.setEncoding('utf8')
      await listener(request, response)
    })
    expect(reply).toEqual(consumed)
  })

  test('is 503 in the Pages Router and names bodyParser: false', async () => {
    const { receiver, seen } = fresh()
    const route = toNextPages(receiver)
    const reply = await post(async (request, response) => {
      for await (const _ of request);
      await route(Object.assign(request, { body: JSON.parse(body) }), response)
    })
    expect(reply).toEqual(consumed)
    expect(seen).toMatchObject([{ message: expect.stringContaining('bodyParser: false') }])
  })

  test('is 503 in Fastify when a preParsing hook has read the stream', async () => {
    const { receiver, seen } = fresh()
    const app = fastify()
    app.addHook('preParsing', async (_request, _reply, payload) => {
      for await (const _ of payload);
      return payload
    })
    await app.register(toFastify(receiver), { path: '/webhooks' })
    await app.ready()
    expect(await post((request, response) => app.routing(request, response))).toEqual(consumed)
    expect(seen).toMatchObject([{ message: expect.stringContaining('toFastify') }])
  })

  test('is 503 over fetch', async () => {
    const { receiver, seen } = fresh()
    const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
    const request = new Request('http://app.test/webhooks', { method: 'POST', body, headers })
    await request.text()
    const reply = await toFetch(receiver)(request)
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '5'])
    expect(seen).toMatchObject([{ message: expect.stringContaining('request.json()') }])
  })

  const reading: Record<string, (request: Request) => unknown> = {
    'was read': (request) => request.text(),
    'is being read': (request) => void request.text(),
    'is locked': (request) => request.body?.getReader(),
  }
  test.each(Object.entries(reading))(
    'is 503 over fetch when it %s, its length declared',
    async (_, read) => {
      const { receiver, seen } = fresh()
      const length = { 'content-length': String(body.length) }
      const headers = {
        ...length,
        'content-type': 'application/json',
        ...(await sign(body, { secret })),
      }
      const request = new Request('http://app.test/webhooks', { method: 'POST', body, headers })
      await read(request)
      expect((await toFetch(receiver)(request)).status).toBe(503)
      expect(seen).toMatchObject([{ code: 'BODY_CONSUMED' }])
    },
  )

  test('is 503 on @hono/node-server when the Node request was read before', async () => {
    const { receiver } = fresh()
    const listener = getRequestListener(toFetch(receiver))
    const reply = await post(async (request, response) => {
      for await (const _ of request);
      await listener(request, response)
    })
    expect(reply).toEqual(consumed)
  })
})

test('a parser that kept the exact bytes has done no harm', async () => {
  const { receiver, handled } = fresh()
  const app = express()
    .use(express.raw({ type: '*/*' }))
    .post('/webhooks', toExpress(receiver))
  expect(await post(app)).toMatchObject({ status: 200 })
  expect(handled).toEqual(['ver_1'])
})

test('sibling routes of the Fastify plugin keep their own body parsing', async () => {
  const { receiver } = fresh()
  const app = fastify()
  app.post('/before', async (request) => ({ got: request.body }))
  await app.register(toFastify(receiver), { path: '/webhooks' })
  app.post('/after', async (request) => ({ got: request.body }))
  for (const url of ['/before', '/after']) {
    const reply = await app.inject({ method: 'POST', url, payload: { a: 1 } })
    expect(reply.json()).toEqual({ got: { a: 1 } })
  }
})

test('a 64 MiB body is refused before it is buffered', async () => {
  const { receiver } = fresh()
  const server = createServer(toNode(receiver))
  closing.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const headers = await sign('', { secret })
  let sent = 0
  const stream = new ReadableStream({
    pull(controller) {
      if (sent >= 64 * 1024 ** 2) return controller.close()
      sent += 1024 ** 2
      controller.enqueue(new Uint8Array(1024 ** 2))
    },
  })
  const before = process.memoryUsage().arrayBuffers
  const init = { method: 'POST', body: stream, headers, duplex: 'half' } as const
  const reply = await fetch(`http://127.0.0.1:${port}/`, init)
  expect(reply.status).toBe(413)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 ** 2)
})

test('a body without an end is read no further than the limit over fetch', async () => {
  const { receiver } = fresh()
  let pulled = 0
  const stream = new ReadableStream({
    pull(controller) {
      pulled += 1
      controller.enqueue(new Uint8Array(2 ** 18))
    },
  })
  const headers = await sign('', { secret })
  const init = { method: 'POST', body: stream, headers, duplex: 'half' } as const
  const reply = await toFetch(receiver)(new Request('http://app.test/', init))
  expect(reply.status).toBe(413)
  expect(pulled).toBeLessThan(10)
})

test.each<[string, (bytes: Uint8Array<ArrayBuffer>) => unknown]>([
  ['text', (bytes) => new TextDecoder().decode(bytes)],
  ['an ArrayBuffer', (bytes) => bytes.buffer],
  ['another view', (bytes) => new DataView(bytes.buffer)],
])('a Request that streams %s is consumed, and no bound is lost', async (_, chunkOf) => {
  const seen: Observation[] = []
  const limits = { maxBytes: 1_000, maxInFlightBytes: 1_000 }
  const receiver = createReceiver({ secret, ...limits, observe: (one) => seen.push(one) })
  const headers = await sign(body, { secret })
  const send = (chunk: unknown) => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(chunk)
        controller.close()
      },
    })
    const init = { method: 'POST', headers, body: stream, duplex: 'half' } as RequestInit
    return toFetch(receiver)(new Request('http://app.test/webhooks', init))
  }
  expect((await send(chunkOf(new TextEncoder().encode(body)))).status).toBe(503)
  expect(seen).toMatchObject([{ code: 'BODY_CONSUMED' }])
  const theirs = runInNewContext('Uint8Array').from(new TextEncoder().encode(body))
  expect((await send(theirs)).status).toBe(200)
  const read = async (reading: BodyReading) => reading.take(1_001) ?? new Uint8Array()
  expect((await receiver.handle({ method: 'POST', headers, read })).status).toBe(413)
})
