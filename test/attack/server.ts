// One framework with the attacked receiver, in a process of its own: node server.ts <framework>.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { toNode } from 'idv-webhooks/node'
import { watchLoop } from './loop-watch.ts'
import { attackedReceiver } from './receiver.ts'

const path = '/webhooks'
const receiver = attackedReceiver()

const listen = (listener: RequestListener) =>
  new Promise<Server>((resolve) => {
    const server = createServer(listener).listen(0, '127.0.0.1', () => resolve(server))
  })

const frameworks: Readonly<Record<string, () => Promise<Server>>> = {
  node: () => listen(toNode(receiver)),
  'express 4': () => listen(express4().post(path, toExpress(receiver))),
  'express 5': () => listen(express().post(path, toExpress(receiver))),
  fastify: async () => {
    const app = fastify()
    await app.register(toFastify(receiver), { path })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return app.server
  },
  hono: () => {
    const app = new Hono()
    const handler = toFetch(receiver)
    app.post(path, (context) => handler(context.req.raw))
    return new Promise<Server>((resolve) => {
      const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () =>
        resolve(server as Server),
      )
    })
  },
}

const start = frameworks[process.argv[2] ?? '']
if (!start) throw new Error(`name a framework: ${Object.keys(frameworks).join(', ')}`)
const { port } = (await start()).address() as AddressInfo
const stats = await watchLoop()
process.stdout.write(`${JSON.stringify({ port, stats })}\n`)
