// A test of the Next.js application with an inbox, as test/webhooks.test.ts with Vitest.
import { randomUUID } from 'node:crypto'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

process.env.WEBHOOK_SECRET = testSecret
process.env.INBOX = ':memory:'

test('stores an event, then handles it once', async () => {
  const { POST } = await import('../app/webhooks/route')
  const { worker } = await import('../receiver')
  const event = fixture('verification.approved', { id: randomUUID(), data: { id: 'ver_42' } })
  const delivery = await signedDelivery(event)
  const post = () => POST(new Request('http://test/webhooks', { method: 'POST', ...delivery }))

  expect((await post()).status).toBe(202)
  expect(await worker.runOnce()).toMatchObject({ done: 1 })
  expect((await post()).status).toBe(200) // a duplicate
})
