// Every framework that an adapter serves, as a real server on loopback.
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { Receiver } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { toNext, toNextPages } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import Koa from 'koa'

export interface Mounted {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

export interface Mount {
  readonly name: string
  /** Whether the adapter sees repeated headers apart; a fetch Request has joined them. */
  readonly distinctHeaders: boolean
  start(receiver: Receiver): Promise<Mounted>
}

const listen = async (server: Server): Promise<Mounted> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/webhooks`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

const overHono = (handler: (request: Request) => Promise<Response>) => {
  const app = new Hono()
  app.all('/webhooks', (context) => handler(context.req.raw))
  return new Promise<Mounted>((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
      resolve({
        port,
        url: `http://127.0.0.1:${port}/webhooks`,
        close: () =>
          new Promise((closed) => {
            ;(server as Server).closeAllConnections()
            server.close(() => closed())
          }),
      }),
    )
  })
}

export const mounts: readonly Mount[] = [
  {
    name: 'express 5',
    distinctHeaders: true,
    start: (receiver) => listen(createServer(express().all('/webhooks', toExpress(receiver)))),
  },
  {
    name: 'express 4',
    distinctHeaders: true,
    start: (receiver) => listen(createServer(express4().all('/webhooks', toExpress(receiver)))),
  },
  {
    name: 'fastify',
    distinctHeaders: true,
    start: async (receiver) => {
      const app = fastify()
      await app.register(toFastify(receiver), { path: '/webhooks' })
      await app.listen({ port: 0, host: '127.0.0.1' })
      const { port } = app.server.address() as AddressInfo
      const close = async () => {
        app.server.closeAllConnections()
        await app.close()
      }
      return { port, url: `http://127.0.0.1:${port}/webhooks`, close }
    },
  },
  {
    name: 'node',
    distinctHeaders: true,
    start: (receiver) => listen(createServer(toNode(receiver))),
  },
  {
    name: 'koa',
    distinctHeaders: true,
    start: (receiver) => {
      const app = new Koa()
      app.silent = true
      app.use(async (context) => {
        context.respond = false
        await toNode(receiver)(context.req, context.res)
      })
      return listen(createServer(app.callback()))
    },
  },
  {
    name: 'next pages',
    distinctHeaders: true,
    start: (receiver) => listen(createServer(toNextPages(receiver))),
  },
  {
    name: 'fetch over hono',
    distinctHeaders: false,
    start: (receiver) => overHono(toFetch(receiver)),
  },
  { name: 'next app', distinctHeaders: false, start: (receiver) => overHono(toNext(receiver)) },
]

/** A raw HTTP/1.1 exchange, for what no well-behaved client sends. */
export function rawRequest(port: number, parts: readonly (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const received: Buffer[] = []
    socket.setNoDelay(true)
    socket.on('data', (chunk) => received.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(received).toString('latin1')))
    ;(async () => {
      for (const part of parts) {
        await new Promise<void>((written) => socket.write(part, () => written()))
      }
    })()
  })
}
