// A test of fetch.ts with Vitest. The same call serves Workers, Bun, Deno and other fetch hosts.
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

process.env.WEBHOOK_SECRET = testSecret

test('handles a genuine delivery and rejects a forged one', async () => {
  const { default: app } = await import('../fetch.js')
  const post = async (tamper?: 'wrong-secret') => {
    const delivery = await signedDelivery(fixture('verification.approved'), { tamper })
    return app.fetch(new Request('http://test/webhooks', { method: 'POST', ...delivery }))
  }

  expect((await post()).status).toBe(200)
  expect((await post('wrong-secret')).status).toBe(401)
})
