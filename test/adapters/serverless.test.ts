import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, createWorker } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { toNext, toNextPages } from 'idv-webhooks/next'
import { fixture, recordHandlers, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'

async function setUp() {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret: testSecret, inbox, observe: () => {} })
  const recorder = recordHandlers(receiver)
  const worker = createWorker(receiver)
  const waited: Promise<unknown>[] = []
  const waitUntil = (work: Promise<unknown>) => {
    waited.push(work)
  }
  const request = async (tamper?: 'unsigned') => {
    const { body, headers } = await signedDelivery(
      fixture('verification.approved'),
      tamper && { tamper },
    )
    return new Request('http://app.test/', { method: 'POST', body, headers })
  }
  return { receiver, recorder, worker, waited, waitUntil, request }
}

test('a host that stops between requests handles kept entries once it has answered', async () => {
  const { receiver, recorder, worker, waited, waitUntil, request } = await setUp()
  const handle = toFetch(receiver, { worker })
  const reply = await handle(await request(), {}, { waitUntil })
  expect(reply.status).toBe(202)
  expect(recorder.events).toEqual([])
  await Promise.all(waited)
  expect(recorder.events.map(({ name }) => name)).toEqual(['verification.approved'])
})

test("Next's after() keeps the process awake, and only for kept entries", async () => {
  const { receiver, recorder, worker, waited, waitUntil, request } = await setUp()
  const handle = toNext(receiver, { worker, waitUntil })
  expect((await handle(await request('unsigned'))).status).toBe(401)
  expect(waited).toEqual([])
  expect((await handle(await request())).status).toBe(202)
  await Promise.all(waited)
  expect(recorder.events).toHaveLength(1)
})

test('an API route of the Pages Router does the same', async () => {
  const { receiver, recorder, worker, waited, waitUntil, request } = await setUp()
  const server = createServer(toNextPages(receiver, { worker, waitUntil })).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { headers, body } = await request()
  const init = { method: 'POST', headers, body, duplex: 'half' } as const
  expect((await fetch(`http://127.0.0.1:${port}/`, init)).status).toBe(202)
  await Promise.all(waited)
  expect(recorder.events).toHaveLength(1)
})

test('a host that cannot stay awake changes no reply, and the entry stays kept', async () => {
  const { receiver, recorder, worker, request } = await setUp()
  const handle = toFetch(receiver, {
    worker,
    waitUntil: () => {
      throw new Error('the request is over')
    },
  })
  expect((await handle(await request())).status).toBe(202)
  await recorder.waitFor('verification.approved')
})
