// Apps as people write them: a sound one, and one for each classic mistake before the receiver.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type Server,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createReceiver, type Receiver, schemes, toReply, verify } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { toLambda } from 'idv-webhooks/lambda'
import { toNext, toNextPages } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import { apiResolver } from 'next/dist/server/api-utils/node/api-resolver.js'
import { onTestFinished } from 'vitest'

export const secret = 'a-secret-for-the-command-line'

export const receiver = () => createReceiver({ secret })

/** Serves until the test ends; gives the address of the route. */
export async function serve(listener: RequestListener, path = '/webhooks'): Promise<string> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
}

/** A user's handler that serializes the body again. */
async function answer(own: Receiver, request: IncomingMessage, body: string | Buffer) {
  const headers = Object.entries(request.headers).map(
    ([name, value]) => [name, String(value)] as const,
  )
  const outcome = await own.receive({ body: new Uint8Array(Buffer.from(body)), headers })
  return toReply(outcome)
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of message) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** A proxy that makes of every body what `change` says. */
function proxyTo(url: string, change: (body: Buffer) => Buffer | string): RequestListener {
  return async (incoming, outgoing) => {
    const body = Buffer.from(change(await bytesOf(incoming)))
    const { 'transfer-encoding': _, ...headers } = incoming.headers
    const onward = request(
      url,
      { method: incoming.method, headers: { ...headers, 'content-length': body.length } },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    onward.end(body)
  }
}

const reparse = (body: Buffer) => {
  try {
    return JSON.stringify(JSON.parse(body.toString()))
  } catch {
    return body
  }
}

/** The Pages Router's own code around a route. */
function servePages(route: object): Promise<string> {
  const context = { previewModeId: 'a', previewModeEncryptionKey: 'b', previewModeSigningKey: 'c' }
  return serve((request, response) => {
    response.setHeader('x-powered-by', 'Next.js')
    void apiResolver(request, response, {}, route, context as never, false)
  })
}

const unparsed = { api: { bodyParser: false } }

/** A function behind an HTTP API: headers are joined, bodies are base64, and 6 MiB is the most. */
function gateway(handler: ReturnType<typeof toLambda>): RequestListener {
  return async (request, response) => {
    const body = await bytesOf(request)
    if (body.length > 6 * 1024 ** 2) {
      response.writeHead(413).end()
      return
    }
    const joined = Object.entries(request.headersDistinct).map(([name, all]) => [name, String(all)])
    const reply = await handler({
      ...{ version: '2.0', rawPath: request.url ?? '/', headers: Object.fromEntries(joined) },
      requestContext: { http: { method: request.method ?? '', sourceIp: '203.0.113.9' } },
      ...{ body: body.toString('base64'), isBase64Encoded: true },
    })
    response.writeHead(reply.statusCode, reply.headers).end(reply.body)
  }
}

/** Each gives the address of its route. */
export const apps = {
  sound: () => serve(toNode(receiver())),
  'sound, express': () => serve(express().post('/webhooks', toExpress(receiver()))),
  async 'sound, fastify'() {
    const app = fastify()
    await app.register(toFastify(receiver()), { path: '/webhooks' })
    await app.ready()
    return serve((request, response) => app.routing(request, response))
  },
  'sound, hono': () => {
    const app = new Hono()
    const receive = toFetch(receiver())
    app.post('/webhooks', (context) => receive(context.req.raw))
    return serve(getRequestListener(app.fetch))
  },
  'sound, next': () => servePages({ default: toNextPages(receiver()), config: unparsed }),
  'sound, lambda': () => serve(gateway(toLambda(receiver()))),
  'express.json() first': () =>
    serve(express().use(express.json()).post('/webhooks', toExpress(receiver()))),
  'express.json(), then JSON.stringify': () => {
    const own = receiver()
    const app = express().use(express.json())
    app.post('/webhooks', async (request, response) => {
      const { status, body } = await answer(own, request, JSON.stringify(request.body))
      response.status(status).send(body)
    })
    return serve(app)
  },
  'express.text() first': () => {
    const own = receiver()
    const app = express().use(express.text({ type: '*/*' }))
    app.post('/webhooks', async (request, response) => {
      const { status, body } = await answer(own, request, request.body)
      response.status(status).send(body)
    })
    return serve(app)
  },
  async 'the default parser of Fastify'() {
    const own = receiver()
    const app = fastify()
    app.post('/webhooks', async (request, response) => {
      const { status, body } = await answer(own, request.raw, JSON.stringify(request.body))
      return response.code(status).header('content-type', 'application/json').send(body)
    })
    await app.ready()
    return serve((request, response) => app.routing(request, response))
  },
  // With the body parser that a route gets by default.
  'the Pages Router with its body parser': () => servePages({ default: toNextPages(receiver()) }),
  'request.json() in the App Router': () => {
    const POST = toNext(receiver())
    const route = getRequestListener(async (request) => {
      await request.json()
      return POST(request)
    })
    return serve((request, response) => {
      response.setHeader('x-powered-by', 'Next.js')
      return route(request, response)
    })
  },
  async 'a proxy that re-serialises'() {
    return serve(proxyTo(await serve(toNode(receiver())), reparse))
  },
  async 'a logger that adds a line break'() {
    return serve(proxyTo(await serve(toNode(receiver())), (body) => `${body.toString()}\n`))
  },
  async 'a gateway that trims'() {
    return serve(
      proxyTo(await serve(toNode(receiver())), (body) =>
        Buffer.from(body.toString('latin1').trim(), 'latin1'),
      ),
    )
  },
  // The bytes are exact; what is around them is not.
  'express.raw(), verify() and JSON.parse': () => {
    const app = express().post('/webhooks', express.raw({ type: '*/*' }))
    app.post('/webhooks', async (request, response) => {
      const headers = request.headers as Record<string, string>
      const proved = await verify({ body: request.body, headers }, { secret })
      if (!proved.ok) return response.status(401).end()
      const event = JSON.parse(request.body) as { event: string }
      return response.json({ name: event.event })
    })
    return serve(app)
  },
  'a signature that is only looked for': () =>
    serve(async (request, response) => {
      await bytesOf(request)
      response.statusCode = request.headers['x-service-signature'] ? 200 : 401
      response.end()
    }),
  'an app that is in a bad mood': () => {
    const own = toNode(receiver())
    return serve((request, response) => {
      if (request.headers['transfer-encoding']) response.writeHead(418).end()
      else own(request, response)
    })
  },
  async 'a proxy that drops the signature'() {
    const app = toNode(receiver())
    return serve((request, response) => {
      delete request.headers['x-service-signature']
      const pairs = request.rawHeaders.map((one, at) => [one, request.rawHeaders[at + 1] ?? ''])
      const kept = pairs.filter(([name], at) => at % 2 === 0 && !/signature/i.test(name ?? ''))
      request.rawHeaders = kept.flat()
      app(request, response)
    })
  },
  'an app that looks in another header': () =>
    serve(
      toNode(createReceiver({ secret, scheme: schemes.service({ header: 'X-Other-Signature' }) })),
    ),
  'another secret': () => serve(toNode(createReceiver({ secret: 'another-secret-of-the-app' }))),
  'no verification': () =>
    serve(async (request, response) => {
      await bytesOf(request)
      response.end('{"ok":true}')
    }),
  'a dev server that breaks connections': () =>
    serve((request, response) => {
      if (request.method === 'POST') request.destroy()
      else response.writeHead(404).end()
    }),
  'a login page': () =>
    serve((_, response) => response.writeHead(302, { location: '/login' }).end()),
} satisfies Record<string, () => Promise<string>>
