// A test of lambda.ts with Vitest: the event of an HTTP API or a function URL, whose body is text.
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

process.env.WEBHOOK_SECRET = testSecret

test('handles a genuine delivery and rejects a forged one', async () => {
  const { handler } = await import('../lambda.js')
  const invoke = async (tamper?: 'wrong-secret') => {
    const delivery = await signedDelivery(fixture('verification.approved'), { tamper })
    return handler({
      version: '2.0',
      rawPath: '/webhooks',
      headers: delivery.headers,
      requestContext: { http: { method: 'POST', sourceIp: '203.0.113.9' } },
      body: new TextDecoder().decode(delivery.body),
      isBase64Encoded: false,
    })
  }

  expect((await invoke()).statusCode).toBe(200)
  expect((await invoke('wrong-secret')).statusCode).toBe(401)
})
