import { expect, test } from 'vitest'
import { provesUnsent } from '../../src/client/network-fault.ts'

const coded = (code: string, cause?: unknown) => Object.assign(new Error(code), { code, cause })
const failed = (cause: unknown) => new TypeError('fetch failed', { cause })

test.each([
  'ECONNREFUSED',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ConnectionRefused',
])('%s proves that nothing was sent', (code) => {
  expect(provesUnsent(failed(coded(code)))).toBe(true)
  expect(provesUnsent(coded(code))).toBe(true)
})

test.each(['ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_BODY_TIMEOUT'])(
  '%s proves nothing',
  (code) => {
    expect(provesUnsent(failed(coded(code)))).toBe(false)
  },
)

test('of several addresses that were tried, every one must have refused', () => {
  const both = (...codes: string[]) => failed(new AggregateError(codes.map((code) => coded(code))))
  expect(provesUnsent(both('ECONNREFUSED', 'ENETUNREACH'))).toBe(true)
  expect(provesUnsent(both('ECONNREFUSED', 'ECONNRESET'))).toBe(false)
})

test('what is no error proves nothing', () => {
  for (const one of [undefined, null, 'ECONNREFUSED', {}, new Error('x')]) {
    expect(provesUnsent(one)).toBe(false)
  }
})
