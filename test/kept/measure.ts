// Prints how many bytes of heap a handled delivery keeps after collection, a JSON line for each
// adapter, with and without an inbox: node --expose-gc --import from-source.ts measure.ts <count>
import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import inject, { type DispatchFunc } from 'light-my-request'
import { toExpress } from '../../adapters/express.ts'
import { toFastify } from '../../adapters/fastify.ts'
import { toFetch } from '../../adapters/fetch.ts'
import { toNext, toNextPages } from '../../adapters/next.ts'
import { toNode } from '../../adapters/node.ts'
import { createInbox, memoryStore } from '../../src/inbox/index.ts'
import { createReceiver, createWorker, type Receiver } from '../../src/index.ts'
import { fakeClock } from '../../src/testing/index.ts'

type Deliver = (body: string, headers: Record<string, string>) => Promise<number>
type Mount = (receiver: Receiver) => Deliver | Promise<Deliver>

const [url, host] = ['/webhooks', 'app.test']

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

const overNode = (listener: unknown): Deliver => {
  // An injected request never says that it is complete, and would be held like an unfinished one.
  const dispatch: Listener = (request, response) =>
    (listener as Listener)(Object.assign(request, { complete: true }), response)
  return async (payload, headers) => {
    const request = { method: 'POST' as const, url, headers, payload }
    return (await inject(dispatch as unknown as DispatchFunc, request)).statusCode
  }
}

const overFetch =
  (handler: (request: Request) => Response | Promise<Response>): Deliver =>
  async (body, headers) => {
    const response = await handler(
      new Request(`http://${host}${url}`, { method: 'POST', headers, body }),
    )
    await response.arrayBuffer()
    return response.status
  }

const mounts: Readonly<Record<string, Mount>> = {
  receive: (receiver) => async (body, headers) => {
    const outcome = await receiver.receive({ body: Buffer.from(body), headers })
    return outcome.kind === 'handled' ? 200 : outcome.kind === 'accepted' ? 202 : 500
  },
  node: (receiver) => overNode(toNode(receiver)),
  'express 5': (receiver) => overNode(express().post(url, toExpress(receiver))),
  'express 4': (receiver) => overNode(express4().post(url, toExpress(receiver))),
  fastify: async (receiver) => {
    const app = fastify()
    await app.register(toFastify(receiver), { path: url })
    await app.ready()
    return overNode(app.routing)
  },
  hono: (receiver) => {
    const handler = toFetch(receiver)
    const app = new Hono().post(url, (context) => handler(context.req.raw))
    return overFetch((request) => app.fetch(request))
  },
  'next app': (receiver) => overFetch(toNext(receiver)),
  'next pages': (receiver) => overNode(toNextPages(receiver)),
}

const secret = 'a secret that only the measurement knows'
let serial = 0

async function deliverOne(deliver: Deliver, expected: number): Promise<void> {
  const id = `${++serial}`.padStart(12, '0')
  const body = `{"id":"evt_${id}","event":"verification.approved","createdAt":"2026-03-01T10:00:00Z","data":{"id":"5d0c2a3e-8b7f-4f43-9a3c-${id}","status":"approved"}}`
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const headers = { host, 'content-type': 'application/json', 'x-service-signature': signature }
  const status = await deliver(body, headers)
  if (status !== expected) throw new Error(`a delivery was answered ${status}`)
}

/** The heap in use once all unreachable objects are gone, finalizers included. */
async function heap(): Promise<number> {
  let [least, steady] = [Number.POSITIVE_INFINITY, 0]
  for (let round = 0; round < 40 && steady < 4; round++) {
    await pause(10)
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    steady = heapUsed + external < least - 4096 ? 0 : steady + 1
    least = Math.min(least, heapUsed + external)
  }
  return least
}

/** A receiver with its worker: `settle` handles what is kept, and lets retention erase it. */
async function setUp(withInbox: boolean) {
  const clock = fakeClock()
  const inbox = createInbox({ store: memoryStore(), now: clock.now })
  const receiver = createReceiver({ secret, ...(withInbox && { inbox }) })
  let handled = 0
  receiver.on('verification.*', async (_, context) => {
    // Objects that are created on demand now exist.
    context.signal.throwIfAborted()
    handled += context.idempotencyKey.length > 0 && context.delivery.headers ? 1 : 0
  })
  const worker = withInbox ? createWorker(receiver, { concurrency: 16 }) : undefined
  await worker?.start()
  /** The memory store sorts what waits at every claim: a backlog of 100,000 would take an hour. */
  const follow = async (sent: number) => {
    while (handled < sent - 1000) await pause(1)
  }
  const settle = async (expected: number) => {
    while (handled < expected) await pause(5)
    if (!worker) return
    await pause(50)
    clock.advance({ days: 200 })
    await inbox.purge()
  }
  return { receiver, follow, settle, close: () => worker?.drain() }
}

async function measure(mount: Mount, withInbox: boolean, count: number): Promise<number> {
  const { receiver, follow, settle, close } = await setUp(withInbox)
  const deliver = await mount(receiver)
  let sent = 0
  const run = async (many: number) => {
    for (let left = many; left > 0; left -= 100) {
      const wave = Math.min(left, 100)
      sent += wave
      await Promise.all(
        Array.from({ length: wave }, () => deliverOne(deliver, withInbox ? 202 : 200)),
      )
      await follow(sent)
    }
    await settle(sent)
  }
  // Compilers, caches and pools are warm before the first look.
  await run(Math.max(2000, count / 20))
  const before = await heap()
  await run(count)
  const after = await heap()
  await close()
  return (after - before) / count
}

/** `short` measures the inbox through two ways in alone: what it keeps does not depend on them. */
const [count = '20000', extent = 'short'] = process.argv.slice(2)
for (const [adapter, mount] of Object.entries(mounts)) {
  for (const inbox of [false, true]) {
    if (inbox && extent === 'short' && adapter !== 'receive' && adapter !== 'node') continue
    const bytes = await measure(mount, inbox, Number(count))
    console.log(JSON.stringify({ adapter, inbox, bytes: Math.round(bytes * 10) / 10 }))
  }
}
