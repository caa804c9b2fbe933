// Servers of HTTP/2 without TLS on loopback, and how a delivery begins.
import { type ClientHttp2Stream, connect, createServer, type Http2ServerRequest } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import fastify from 'fastify'
import { toFastify } from 'idv-webhooks/fastify'
import { type HandlesRequests, toNode } from 'idv-webhooks/node'
import { onTestFinished } from 'vitest'

/** Begins to handle requests `patience` ms after they came, as behind a slow middleware. */
type Start = (receiver: HandlesRequests, patience?: number) => Promise<string>

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const overNode: Start = (receiver, patience) =>
  listening(receiver, () => patience && wait(patience))

/** Behind a middleware that reads the body and keeps its bytes. */
export const keepingFirst: Start = (receiver, patience) =>
  listening(receiver, async (request) => {
    const rawBody = await buffer(request)
    Object.assign(request, { rawBody })
    if (patience) await wait(patience)
  })

async function listening(
  receiver: HandlesRequests,
  first: (request: Http2ServerRequest) => unknown,
) {
  const handle = toNode(receiver)
  // Typed for node:http; Koa and others hand such requests over.
  const server = createServer(async (request, response) => {
    await first(request)
    await handle(request as never, response as never)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const overFastify: Start = async (receiver, patience) => {
  const app = fastify({ http2: true })
  if (patience) app.addHook('onRequest', async () => void (await wait(patience)))
  await app.register(toFastify(receiver), { path: '/webhooks' })
  onTestFinished(() => app.close())
  return app.listen({ port: 0, host: '127.0.0.1' })
}

export const http2Mounts = [
  ['node:http2', overNode],
  ['Fastify', overFastify],
] as const

type Begin = (headers: Record<string, string>) => ClientHttp2Stream

/** One session, on which each call begins a delivery. */
export function sessionTo(origin: string): Begin {
  const session = connect(origin).on('error', () => {})
  onTestFinished(() => session.destroy())
  const start = { ':method': 'POST', ':path': '/webhooks', 'content-type': 'application/json' }
  return (headers) => {
    const stream = session.request({ ...start, ...headers })
    return stream.on('error', () => {}).resume()
  }
}
