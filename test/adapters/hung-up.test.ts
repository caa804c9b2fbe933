// Senders that hang up while a middleware before the receiver waits: their doing, and none of ours.
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import type { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import express from 'express'
import fastify from 'fastify'
import { createReceiver, type OutcomeObserved, type Receiver } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toNode } from 'idv-webhooks/node'
import { expect, onTestFinished, test } from 'vitest'

const body = '{"a":1}'
const signature = 'a0'.repeat(32)
const head = `POST /webhooks HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nx-service-signature: ${signature}\r\ncontent-length: ${body.length}\r\n\r\n`

function receiving() {
  const came = Promise.withResolvers<OutcomeObserved>()
  const observe = (seen: { type: string }) =>
    void (seen.type === 'outcome' && came.resolve(seen as OutcomeObserved))
  return { receiver: createReceiver({ secret: 's', observe }), outcome: came.promise }
}

/** A middleware that is done after the sender has gone; `begun` when it waits. */
function slow() {
  const begun = Promise.withResolvers<void>()
  const wait = async (response: Writable) => {
    begun.resolve()
    await once(response, 'close')
    await setImmediate()
  }
  return { begun: begun.promise, wait }
}

type Wait = ReturnType<typeof slow>['wait']

const listener =
  (receiver: Receiver, wait: Wait): RequestListener =>
  async (request, response) => {
    await wait(response)
    await toNode(receiver)(request, response)
  }

const overExpress = (receiver: Receiver, wait: Wait, parser?: express.Handler) => {
  const app = express()
  if (parser) app.use(parser)
  app.use((_, response, next) => void wait(response).then(() => next()))
  return createServer(app.post('/webhooks', toExpress(receiver)))
}

const mounts: Record<string, (receiver: Receiver, wait: Wait) => Server | Promise<Server>> = {
  'node:http': (receiver, wait) => createServer(listener(receiver, wait)),
  'Express 5': overExpress,
  Fastify: async (receiver, wait) => {
    const app = fastify()
    app.addHook('onRequest', (_, reply) => wait(reply.raw))
    await app.register(toFastify(receiver), { path: '/webhooks' })
    await app.ready()
    return app.server
  },
}

async function portOf(server: Pick<Server, 'listen' | 'close' | 'address'>): Promise<number> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Sends a whole delivery, and hangs up when the app has it. */
async function hangUp(server: Server, begun: Promise<void>): Promise<void> {
  const socket = connect(await portOf(server), '127.0.0.1').on('error', () => {})
  socket.write(head + body)
  await begun
  socket.destroy()
}

test.each(Object.entries(mounts))(
  'over %s, a body that nobody read is incomplete',
  async (_, make) => {
    const { receiver, outcome } = receiving()
    const { begun, wait } = slow()
    await hangUp(await make(receiver, wait), begun)
    expect(await outcome).toMatchObject({ kind: 'rejected', code: 'BODY_INCOMPLETE' })
  },
)

test('a body that a parser read before its sender hung up is still consumed', async () => {
  const { receiver, outcome } = receiving()
  const { begun, wait } = slow()
  await hangUp(overExpress(receiver, wait, express.json()), begun)
  expect(await outcome).toMatchObject({ kind: 'failed', code: 'BODY_CONSUMED' })
})

test.each(['reset', 'end'] as const)(
  'over HTTP/2, after the %s of a whole body too',
  async (how) => {
    const { receiver, outcome } = receiving()
    const { begun, wait } = slow()
    // Typed for node:http; Koa and others hand such requests over.
    const port = await portOf(createHttp2(listener(receiver, wait) as never) as never)
    const session = connectHttp2(`http://127.0.0.1:${port}`).on('error', () => {})
    onTestFinished(() => session.destroy())
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature }
    const stream = session.request({ ':method': 'POST', ':path': '/webhooks', ...headers })
    stream.on('error', () => {}).end(body)
    await begun
    if (how === 'reset') stream.close(8)
    else session.destroy()
    expect(await outcome).toMatchObject({ kind: 'rejected', code: 'BODY_INCOMPLETE' })
  },
)
