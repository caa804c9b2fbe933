import { createClient } from 'idv-webhooks/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { errorPage } from '../../src/errors.ts'

/** The warnings of a client whose service has this address. */
function warnings(origin: string) {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  createClient({ baseUrl: `${origin}/v2/api`, apiKey: 'key_very_secret' })
  return warned.mock.calls as unknown as readonly (readonly [message: string, about: object])[]
}

test.each([
  'http://api.example.com',
  'http://api.example.com:8080',
  'http://8.8.8.8',
  'http://172.32.0.1',
  'http://100.128.0.1',
  'http://11.0.0.1',
  'http://internal.example.com',
  'http://[2001:db8::1]',
  'http://[::ffff:8.8.8.8]',
])('a key that is sent unencrypted to another network is a warning, once: %s', (origin) => {
  const [first, ...further] = warnings(origin)
  expect(first?.[0]).toContain(`sends the API key unencrypted to ${new URL(origin).host}`)
  expect(first?.[0]).not.toContain('key_very_secret')
  expect(first?.[1]).toEqual({ code: 'IDV_PLAIN_HTTP', detail: errorPage('PLAIN_HTTP') })
  expect(further).toEqual([])
})

test.each([
  'https://api.example.com',
  'http://localhost:4010',
  'http://idv.localhost',
  'http://sandbox:4010',
  'http://idv.internal',
  'http://host.docker.internal',
  'http://sandbox.default.svc.cluster.local',
  'http://x.test',
  'http://127.0.0.1:4010',
  'http://127.1',
  'http://10.1.2.3',
  'http://172.16.0.1',
  'http://172.31.255.1',
  'http://192.168.1.1',
  'http://169.254.1.1',
  'http://[::1]',
  'http://[fd00::1]',
  'http://[fe80::1]',
])('encryption, this machine and a private network are no reason to warn: %s', (origin) => {
  expect(warnings(origin)).toEqual([])
})
