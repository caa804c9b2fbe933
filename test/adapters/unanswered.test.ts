// The server ignores the promise of a listener: an error behind it must not end the process.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { createReceiver, type Observation, type Reply } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toNextPages } from 'idv-webhooks/next'
import { type HandlesRequests, toNode } from 'idv-webhooks/node'
import Koa from 'koa'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { rawRequest } from '../mounts.ts'

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The answer to an unsigned delivery, once the listener's own promise is fulfilled. */
async function answerOf(listener: Listener) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const server = createServer((request, response) => resolve(listener(request, response)))
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const reply = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  await promise
  return { status: reply.status, body: await reply.json() }
}

const failed = {
  status: 500,
  body: {
    code: 'HANDLER_FAILED',
    message: 'the event could not be handled',
    statusCode: 500,
  },
}

const unanswerable: readonly [string, HandlesRequests['handle']][] = [
  ['that throws', () => Promise.reject(new RangeError('canary'))],
  [
    'whose reply has a body that no server can send',
    async () => ({ status: 400, headers: {}, body: { hint: 'a' } }) as unknown as Reply,
  ],
  [
    'whose reply has a header that no server can send',
    async () => ({ status: 400, headers: { 'x-note': '\u2013' }, body: '' }),
  ],
]

test.each(unanswerable)('a receiver %s is 500 and a warning', async (_, handle) => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  for (const mount of [toNode, toNextPages]) {
    expect(await answerOf(mount({ handle }))).toEqual(failed)
  }
  expect(warned).toHaveBeenCalledTimes(2)
  expect(warned).toHaveBeenCalledWith(
    expect.stringMatching(/^webhook HANDLER_FAILED: a request could not be answered: \w+Error$/),
    { code: 'IDV_HANDLER_FAILED', detail: expect.stringContaining('/errors/handler-failed') },
  )
})

test('a respond that fails at each unsigned request warns once', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const throwing = (event: unknown) => (event as { name: string }).name
  const respond = Object.assign((_: unknown, event: unknown) => ({ body: throwing(event) }), {
    handshake: () => ({ status: 99, headers: {}, body: '' }),
  })
  const receiver = createReceiver({ secret: 's', respond, observe: () => {} })
  for (let request = 0; request < 20; request++) {
    expect((await answerOf(toNode(receiver))).status).toBe(401)
  }
  const texts = warned.mock.calls.map(([text]) => String(text))
  expect(texts).toEqual([
    'handshake returned status 99: use 200 to 599 (shown once)',
    'respond threw TypeError: the standard reply was sent (shown once)',
  ])
})

test('a reply that is refused by the server takes nothing along into the next', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const listener = toNode({
    handle: async () => ({ status: 400, headers: { trailer: 'x' }, body: '' }),
  })
  const wrapped: Listener = (request, response) => {
    response.setHeader('x-wrapper', 'its own')
    return listener(request, response)
  }
  expect(await answerOf(wrapped)).toEqual(failed)
})

test.each(['keep-alive', 'Transfer-Encoding', 'upgrade', 'trailer', 'connection'])(
  'respond may not set %s, which is of the connection',
  (name) => {
    const respond = { rejected: { headers: { [name]: 'x' } } }
    expect(() => createReceiver({ secret: 's', respond })).toThrow('that no server can send')
  },
)

test('a request that is refused is cut off though a middleware replaced the end of responses', async () => {
  const app = express()
  app.use((_request, response, next) => {
    const end = response.end.bind(response)
    // As compression and express-session do: the callback is lost.
    response.end = ((chunk: string) => end(chunk)) as never
    next()
  })
  app.use(toExpress(createReceiver({ secret: 's', bodyTimeout: 50, observe: () => {} })))
  const server = createServer(app)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const signature = `x-service-signature: ${'a0'.repeat(32)}`
  const answer = await rawRequest(port, [
    `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${signature}\r\ncontent-length: 9\r\n\r\n{`,
  ])
  expect(answer).toContain('BODY_INCOMPLETE')
})

test('a clock that throws is a failure of ours, answered and observed', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const error = new Error('canary')
  const seen: Observation[] = []
  const now = () => {
    throw error
  }
  const receiver = createReceiver({ secret: 's', now, observe: (one) => seen.push(one) })
  expect(await answerOf(toNode(receiver))).toEqual(failed)
  expect(seen).toMatchObject([
    { kind: 'failed', code: 'HANDLER_FAILED', at: expect.any(Date), errors: [{ error }] },
  ])
  expect(String(warned.mock.calls)).toContain('using the system clock instead')
  expect(String(warned.mock.calls)).not.toContain('canary')
})

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

const handlers: readonly [string, (receiver: HandlesRequests) => Promise<Handler>][] = [
  ['node', async (receiver) => toNode(receiver)],
  ['next pages', async (receiver) => toNextPages(receiver)],
  ['express 5', async (receiver) => express().use(toExpress(receiver))],
  ['express 4', async (receiver) => express4().use(toExpress(receiver))],
  [
    'koa',
    async (receiver) => {
      const app = new Koa()
      app.use(async (context) => {
        context.respond = false
        await toNode(receiver)(context.req, context.res)
      })
      return app.callback()
    },
  ],
  [
    'fastify',
    async (receiver) => {
      const app = fastify()
      await app.register(toFastify(receiver), { path: '/*' })
      await app.ready()
      onTestFinished(() => app.close())
      return (request, response) => app.routing(request, response)
    },
  ],
]

/** As an app's own time limit does: it answers, although the receiver is not done. */
const answers: readonly [string, (response: ServerResponse, replied: Promise<void>) => void][] = [
  ['has ended', (response) => void response.writeHead(503).end('late')],
  [
    'has begun',
    (response, replied) => {
      response.writeHead(503)
      response.write('la')
      replied.then(() => response.end('te'))
    },
  ],
]

describe.each(handlers)('over %s, a reply to a response that somebody else', (_, mount) => {
  test.each(answers)('%s is not written, and ends no process', async (__, answerFirst) => {
    const { promise: replied, resolve: reply } = Promise.withResolvers<void>()
    const errors: unknown[] = []
    const handle: HandlesRequests['handle'] = async () => {
      await new Promise((done) => setTimeout(done, 30))
      setTimeout(reply, 30)
      return { status: 200, headers: {}, body: 'ours' }
    }
    const handler = await mount({ handle })
    const server = createServer((request, response) => {
      response.on('error', (error) => errors.push(error))
      // A response that stays open: what follows on its connection waits in the queue.
      if (request.url === '/events') return void replied.then(() => response.end('events'))
      handler(request, response)
      answerFirst(response, replied)
    })
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const received = await rawRequest(port, [
      'GET /events HTTP/1.1\r\nhost: a\r\n\r\n',
      'POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}',
    ])
    expect(received).toContain('503 Service Unavailable')
    expect(received).not.toContain('ours')
    expect(errors).toEqual([])
  })
})
