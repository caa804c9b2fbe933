import { createClient } from 'idv-webhooks/client'
import { describe, expect, test } from 'vitest'
import { emailAddress } from '../../src/protocol/api-schemas.ts'
import { openSandbox } from '../sandbox/open-sandbox.ts'

const isEmailAddress = (text: string) => emailAddress.safeParse(text).success

const addresses = [
  'o&m@example.com',
  'sales/eu@example.com',
  'user=tag@example.com',
  'a!b#c$d%e*f@example.com',
  '{x}|~`^?@example.com',
  'first.last+tag@sub.example.co',
  '"a\\"b"@example.com',
  'root@localhost',
  'someone@[127.0.0.1]',
  'someone@[IPv6:2001:db8::1]',
  'müller@example.com',
  'x@bücher.example',
  '用户@例子.公司',
  `${'l'.repeat(80)}@example.com`,
]

const others = [
  '',
  'nobody',
  '@example.com',
  'a@',
  'a@b@example.com',
  'a b@example.com',
  'a@example.com\n',
  'a\u0000@example.com',
  'a\u200b@example.com',
  'Ada <a@example.com>',
]

describe('an e-mail address', () => {
  test.each(addresses)(
    '%s is accepted by the client, the sandbox and the schemas',
    async (email) => {
      const sandbox = await openSandbox()
      const { baseUrl, apiKey, fetch } = sandbox
      const client = createClient({ baseUrl, apiKey, fetch, retry: false })
      expect(isEmailAddress(email)).toBe(true)
      const created = await client.clients.create({ email })
      expect(created.email).toBe(email)
      const invited = await client.verifications.create({
        type: 'idv',
        requirements: ['document'],
        subjectEmail: email,
        thirdParties: [{ name: 'Bank', email }],
      })
      expect(invited.subjectEmail).toBe(email)
      expect(sandbox.snapshot().state.outbox[0]?.to).toBe(email)
      await sandbox.close()
    },
  )

  test.each(others)('%j is rejected before anything is sent', async (email) => {
    const client = createClient({
      baseUrl: 'http://sandbox.localhost/v2/api',
      apiKey: 'key_acme',
      fetch: () => Promise.reject(new Error('sent')),
      retry: false,
    })
    expect(isEmailAddress(email)).toBe(false)
    await expect(client.clients.create({ email })).rejects.toMatchObject({
      errors: [{ field: 'email', message: 'must be an e-mail address' }],
    })
  })

  test('is checked in time proportional to its length', () => {
    // A pattern that backtracks would take hours.
    for (const text of ['a'.repeat(1e6), 'a@'.repeat(5e5), `a@${'a-'.repeat(5e5)} `]) {
      expect(isEmailAddress(text)).toBe(false)
    }
  })

  test('has a format and no pattern in the OpenAPI document', async () => {
    const sandbox = await openSandbox()
    const document = await (await sandbox.fetch(`${sandbox.baseUrl}/openapi.json`)).json()
    const body = document.paths['/clients'].post.requestBody.content['application/json'].schema
    expect(body.properties.email).toEqual({ type: 'string', format: 'email', maxLength: 255 })
    await sandbox.close()
  })
})
