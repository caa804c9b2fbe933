import { createReceiver, createWorker } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { toNext } from 'idv-webhooks/next'
import { fixture, recordHandlers, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

async function setUp() {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret: testSecret, inbox, observe: () => {} })
  const recorder = recordHandlers(receiver)
  const worker = createWorker(receiver)
  const waited: Promise<unknown>[] = []
  const waitUntil = (work: Promise<unknown>) => {
    waited.push(work)
  }
  const request = async (spoil?: 'unsigned') => {
    const { body, headers } = await signedDelivery(
      fixture('verification.approved'),
      spoil && { spoil },
    )
    return new Request('http://app.test/', { method: 'POST', body, headers })
  }
  return { receiver, recorder, worker, waited, waitUntil, request }
}

test('a host that stops between requests handles what it kept once it has answered', async () => {
  const { receiver, recorder, worker, waited, waitUntil, request } = await setUp()
  const handle = toFetch(receiver, { worker })
  const reply = await handle(await request(), {}, { waitUntil })
  expect(reply.status).toBe(202)
  expect(recorder.events).toEqual([])
  await Promise.all(waited)
  expect(recorder.events.map(({ name }) => name)).toEqual(['verification.approved'])
})

test("Next's after() keeps it awake, and only for what was taken", async () => {
  const { receiver, recorder, worker, waited, waitUntil, request } = await setUp()
  const handle = toNext(receiver, { worker, waitUntil })
  expect((await handle(await request('unsigned'))).status).toBe(401)
  expect(waited).toEqual([])
  expect((await handle(await request())).status).toBe(202)
  await Promise.all(waited)
  expect(recorder.events).toHaveLength(1)
})
