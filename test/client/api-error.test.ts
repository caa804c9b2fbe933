import { expect, test } from 'vitest'
import { ValidationError } from '../../src/client/index.ts'

test('the message of a 422 names the first fields, and its errors all of them', () => {
  const errors = Array.from({ length: 5000 }, (_, at) => ({
    field: `field${at}`,
    message: 'x'.repeat(100),
  }))
  const requestInfo = { endpoint: 'createClient', method: 'POST', path: '/clients', attempts: 1 }
  const error = new ValidationError({
    message: 'refused',
    requestInfo: requestInfo as never,
    errors,
  })
  expect(error.message.length).toBeLessThan(5000)
  expect(error.message).toContain('field19: x')
  expect(error.errors).toHaveLength(5000)
})
