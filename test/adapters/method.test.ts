// Frameworks that write methods in small letters.
import { createReceiver } from 'idv-webhooks'
import { signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

test.each(['POST', 'post'])('a delivery by %s is taken', async (method) => {
  const { body, headers } = await signedDelivery({ event: 'client.created', data: { id: 'c' } })
  const receiver = createReceiver({ secret: testSecret })
  const handled = await receiver.handle({ method, headers, read: async () => body as Uint8Array })
  expect(handled.status).toBe(200)
})
