import { expect, test } from 'vitest'
import { provesUnsent } from '../../src/client/network-fault.ts'

const coded = (code: string, syscall?: string) =>
  Object.assign(new Error(code), { code, ...(syscall && { syscall }) })
const failed = (cause: unknown) => new TypeError('fetch failed', { cause })

test.each([
  ['ECONNREFUSED', 'connect'],
  ['EHOSTUNREACH', 'connect'],
  ['ETIMEDOUT', 'connect'],
  ['ECONNRESET', 'connect'],
  ['ENOTFOUND', 'getaddrinfo'],
  ['EAI_AGAIN', 'getaddrinfo'],
  ['UND_ERR_CONNECT_TIMEOUT', undefined],
  ['CERT_HAS_EXPIRED', undefined],
  ['ERR_TLS_CERT_ALTNAME_INVALID', undefined],
  ['ECONNREFUSED', undefined],
])('%s of %s proves that nothing was sent', (code, syscall) => {
  expect(provesUnsent(failed(coded(code, syscall)))).toBe(true)
  expect(provesUnsent(coded(code, syscall))).toBe(true)
})

test.each([
  ['ECONNRESET', 'read'],
  ['EHOSTUNREACH', 'read'],
  ['ENETUNREACH', 'write'],
  ['ENETDOWN', 'read'],
  ['ETIMEDOUT', 'read'],
  ['EPIPE', 'write'],
  ['ECONNRESET', undefined],
  ['ECONNREFUSED', 'recvmsg'],
  ['ConnectionRefused', undefined],
  ['FailedToOpenSocket', undefined],
  ['UND_ERR_SOCKET', undefined],
  ['UND_ERR_BODY_TIMEOUT', undefined],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', undefined],
  ['ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC', undefined],
  ['ERR_SSL_WRONG_VERSION_NUMBER', undefined],
])('%s of %s proves nothing', (code, syscall) => {
  expect(provesUnsent(failed(coded(code, syscall)))).toBe(false)
})

test('Deno also shows a refused connection when it has repeated a request that was sent', () => {
  const url = 'http://127.0.0.1:9/v2/api/clients'
  const why = 'client error (Connect): tcp connect error: Connection refused (os error 111)'
  expect(provesUnsent(failed(new Error(`error sending request for url (${url}): ${why}`)))).toBe(
    false,
  )
})

test('if several addresses were tried, every one of them must have refused', () => {
  const both = (...codes: string[]) =>
    failed(new AggregateError(codes.map((code) => coded(code, 'connect'))))
  expect(provesUnsent(both('ECONNREFUSED', 'ENETUNREACH'))).toBe(true)
  const reset = new AggregateError([coded('ECONNREFUSED', 'connect'), coded('ECONNRESET', 'read')])
  expect(provesUnsent(failed(reset))).toBe(false)
})

test('a value that is not an error proves nothing', () => {
  for (const one of [undefined, null, 'ECONNREFUSED', {}, new Error('x')]) {
    expect(provesUnsent(one)).toBe(false)
  }
})
