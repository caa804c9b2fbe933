// Strangers that hold sockets: a body that does not come, comes slowly or never ends.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { createReceiver, sign } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { toNext } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'

const secret = 'slow-bodies-secret'
const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const receiverOf = () => {
  const receiver = createReceiver({ secret, bodyTimeout: 300, maxInFlightBytes: 1024 ** 2 })
  return receiver.on('*', () => {})
}

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const mounts: Record<string, () => Promise<number>> = {
  'node:http': () => listen(toNode(receiverOf())),
  Express: () => {
    const app = express()
    app.post('/webhooks', toExpress(receiverOf()))
    return listen(app)
  },
  Fastify: async () => {
    const app = fastify()
    await app.register(toFastify(receiverOf()), { path: '/webhooks' })
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing.push(() => app.close())
    return (app.server.address() as AddressInfo).port
  },
  '@hono/node-server': () => listen(getRequestListener(toFetch(receiverOf()))),
}

interface Stranger {
  readonly socket: Socket
  readonly answer: () => string
  readonly closed: Promise<void>
}

function stranger(port: number, headers: readonly string[]): Stranger {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const typed = headers.some((one) => one.startsWith('Content-Type'))
  const type = typed ? [] : ['Content-Type: application/json']
  const lines = ['POST /webhooks HTTP/1.1', 'Host: x', ...type, ...headers]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  closing.push(() => socket.destroy())
  return { socket, answer: () => text, closed }
}

const forged = `X-Service-Signature: ${'a0'.repeat(32)}`

async function genuine(port: number): Promise<number> {
  const body = '{"event":"client.created","data":{"id":"c"}}'
  const headers = { ...(await sign(body, { secret })), 'content-type': 'application/json' }
  return (await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body }))
    .status
}

const overHttp2: Record<string, () => Promise<number>> = {
  'node:http2': async () => {
    // Typed for node:http; Koa and others hand such requests over.
    const server = createHttp2(toNode(receiverOf()) as never)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => server.close())
    return (server.address() as AddressInfo).port
  },
  'Fastify with http2': async () => {
    const app = fastify({ http2: true })
    await app.register(toFastify(receiverOf()), { path: '/webhooks' })
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing.push(() => app.close())
    return (app.server.address() as AddressInfo).port
  },
}

test.each(Object.entries(overHttp2))(
  'over %s a body that does not come ends its stream',
  async (_, mount) => {
    const session = connectHttp2(`http://127.0.0.1:${await mount()}`)
    const stream = session.request({
      ':method': 'POST',
      ':path': '/webhooks',
      'content-type': 'application/json',
      'x-service-signature': 'a0'.repeat(32),
    })
    stream.on('error', () => {}).resume()
    const answered = once(stream, 'response')
    await new Promise((resolve) => stream.once('close', resolve))
    expect((await answered)[0]).toMatchObject({ ':status': 400 })
    session.destroy()
  },
)

/** Lets ten seconds pass for all but sockets, and then some turns for those. */
async function patienceEnds(isOver: () => boolean): Promise<boolean> {
  for (let turn = 0; turn < 2_000 && !isOver(); turn++) {
    vi.advanceTimersByTime(turn < 100 ? 200 : 0)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return isOver()
}

test("Fastify ends the connection of a request that Fastify itself rejects at the receiver's path", async () => {
  const port = await (mounts.Fastify as () => Promise<number>)()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { socket, answer } = stranger(port, [forged, 'Content-Type: a', 'Content-Length: 9999'])
  await once(socket, 'data')
  expect(await patienceEnds(() => socket.destroyed)).toBe(true)
  expect(answer()).toMatch(/^HTTP\/1\.1 415 /)
})

test('over HTTP/2 a delivery has the address that it was sent to', async () => {
  const receiver = createReceiver({
    secret: ({ url }) => (url === `http://127.0.0.1:${port}/webhooks?of=a` ? secret : 'another'),
  }).on('*', () => {})
  const server = createHttp2(toNode(receiver) as never)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const { port } = server.address() as AddressInfo
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  const body = '{"event":"client.created","data":{"id":"c"}}'
  const stream = session.request({
    ':method': 'POST',
    ':path': '/webhooks?of=a',
    'content-type': 'application/json',
    ...(await sign(body, { secret })),
  })
  stream.end(body)
  expect((await once(stream, 'response'))[0]).toMatchObject({ ':status': 200 })
  session.destroy()
})

test('Next.js ends the connection of a rejected request, because it would read on', async () => {
  const POST = toNext(receiverOf())
  const body = '{"event":"client.created","data":{"id":"c"}}'
  const post = (headers: Record<string, string>) =>
    POST(new Request('http://x/webhooks', { method: 'POST', body, headers }))
  const type = { 'content-type': 'application/json' }
  const refused = await post(type)
  expect([refused.status, refused.headers.get('connection')]).toEqual([401, 'close'])
  const taken = await post({ ...type, ...(await sign(body, { secret })) })
  expect([taken.status, taken.headers.get('connection')]).toEqual([200, null])
})

test.each([
  ['short', { 'content-length': '2000' }],
  ['of unknown length', {}],
])('over fetch a body that does not come ends its connection: %s', async (_, length) => {
  const body = new ReadableStream({ start: () => {} })
  const signed = await sign('{}', { secret })
  const headers = { 'content-type': 'application/json', ...signed, ...length }
  const init = { method: 'POST', body, headers, duplex: 'half' } as const
  const reply = await toFetch(receiverOf())(new Request('http://x/webhooks', init))
  expect([reply.status, reply.headers.get('connection')]).toEqual([400, 'close'])
})

test('over fetch a request that was rejected unread ends its connection, whatever its method', async () => {
  const handle = toFetch(receiverOf())
  const connectionOf = async (init: RequestInit) => {
    const { status, headers } = await handle(new Request('http://x/webhooks', init))
    return [status, headers.get('connection')]
  }
  const body = '{"event":"client.created","data":{"id":"c"}}'
  const type = { 'content-type': 'application/json' }
  const signed = { ...type, ...(await sign(body, { secret })) }
  const post = { method: 'POST', body }
  expect(await connectionOf({ ...post, headers: type })).toEqual([401, 'close'])
  const long = { ...signed, 'content-length': '99999999' }
  expect(await connectionOf({ ...post, headers: long })).toEqual([413, 'close'])
  const kind = { ...signed, 'content-type': 'text/html' }
  expect(await connectionOf({ ...post, headers: kind })).toEqual([415, 'close'])
  // A host may hand on a GET without the body that comes with it.
  expect(await connectionOf({ method: 'GET', headers: signed })).toEqual([405, 'close'])
  // A complete body leaves the connection to the next delivery.
  const forged = { ...type, ...(await sign(body, { secret: 'another-secret' })) }
  expect(await connectionOf({ ...post, headers: forged })).toEqual([401, null])
  expect(await connectionOf({ ...post, headers: signed })).toEqual([200, null])
})

test.each([204, 304])('a reply of status %d has no body over fetch', async (status) => {
  const receiver = createReceiver({ secret, respond: { handled: status } }).on('*', () => {})
  const body = '{"event":"client.created","data":{"id":"c"}}'
  const headers = { ...(await sign(body, { secret })), 'content-type': 'application/json' }
  const request = new Request('http://x/webhooks', { method: 'POST', body, headers })
  const reply = await toFetch(receiver)(request)
  expect([reply.status, await reply.text()]).toEqual([status, ''])
})

test.each([
  ['by itself', {}, 'content-length: 21'],
  ['as a function of its own said', { 'Content-Length': '21' }, 'Content-Length: 21'],
])('a reply over node:http has its length %s, once', async (_, headers, line) => {
  const receiver = createReceiver({ secret, respond: () => ({ status: 200, headers }) })
  const port = await listen(toNode(receiver.on('*', () => {})))
  const body = '{"event":"client.created","data":{"id":"c"}}'
  const signed = Object.entries(await sign(body, { secret })).map((pair) => pair.join(': '))
  const { socket, answer, closed } = stranger(port, [
    ...signed,
    `Content-Length: ${body.length}`,
    'Connection: close',
  ])
  socket.write(body)
  await closed
  expect(answer().match(/^(?:content-length|transfer-encoding).*$/gim)).toEqual([line])
})

test('a reply of status 204 has no length over node:http', async () => {
  const receiver = createReceiver({ secret, respond: { handled: 204 } }).on('*', () => {})
  const port = await listen(toNode(receiver))
  const body = '{"event":"client.created","data":{"id":"c"}}'
  const headers = { ...(await sign(body, { secret })), 'content-type': 'application/json' }
  const reply = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
  expect([reply.status, reply.headers.get('content-length')]).toEqual([204, null])
})

describe.each(Object.entries(mounts))('over %s', (_, mount) => {
  test('eighty idle sockets do not lock the sender out, and are gone after the deadline', async () => {
    const port = await mount()
    const idle = Array.from({ length: 80 }, () =>
      stranger(port, [forged, 'Content-Length: 1048576']),
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await genuine(port)).toBe(200)
    await Promise.all(idle.map(({ closed }) => closed))
    expect(idle[0]?.answer()).toMatch(/^HTTP\/1\.1 400 [\s\S]*BODY_INCOMPLETE/)
  })

  test('so do eighty whose bodies would be short', async () => {
    const port = await mount()
    const idle = Array.from({ length: 80 }, () => stranger(port, [forged, 'Content-Length: 16000']))
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await genuine(port)).toBe(200)
    await Promise.all(idle.map(({ closed }) => closed))
    expect(idle.map(({ answer }) => answer())).toEqual(
      idle.map(() => expect.stringMatching(/^HTTP\/1\.1 400 [\s\S]*BODY_INCOMPLETE/)),
    )
    expect(await genuine(port)).toBe(200)
  })

  test('a sender that disconnects in the middle of a body does not affect the next sender', async () => {
    const port = await mount()
    const { socket } = stranger(port, [forged, 'Content-Length: 2000'])
    socket.write('{"event":')
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    expect(await genuine(port)).toBe(200)
  })

  test('a body that drips is cut off after the deadline', async () => {
    const port = await mount()
    const { socket, answer, closed } = stranger(port, [forged, 'Transfer-Encoding: chunked'])
    const drip = setInterval(() => socket.write('1\r\nx\r\n'), 50)
    await closed
    clearInterval(drip)
    expect(answer()).toContain('BODY_INCOMPLETE')
  })
})
