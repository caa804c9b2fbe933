import { createClient, type ValidationError } from 'idv-webhooks/client'
import { expect, test } from 'vitest'

test('the message of a 422 names 20 fields, each cut, and `errors` holds all', async () => {
  const errors = Array.from({ length: 5_000 }, (_, at) => ({
    field: `field${at}`,
    message: 'x'.repeat(at === 0 ? 1_000 : 150),
  }))
  const body = { code: 'VALIDATION_ERROR', message: 'invalid', statusCode: 422, errors }
  const client = createClient({
    baseUrl: 'https://api.test/v2/api',
    apiKey: 'key_of_the_test',
    fetch: async () => Response.json(body, { status: 422 }),
  })
  const error = await client.verifications.get('1').catch((one: ValidationError) => one)
  const { message, errors: all } = error as ValidationError
  expect(all).toEqual(errors)
  expect(message.length).toBeLessThan(5_000)
  expect(message).toContain(`; field0: ${'x'.repeat(200)}…; field1: `)
  expect(message).toMatch(/; field19: x{150}; and 4980 more$/)
})
