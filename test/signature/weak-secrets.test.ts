import { createReceiver } from 'idv-webhooks'
import { testSecret } from 'idv-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'

function warnings(mode: string) {
  vi.stubEnv('NODE_ENV', mode)
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => {
    vi.unstubAllEnvs()
    warn.mockRestore()
  })
  return () => warn.mock.calls.map(([message]) => String(message))
}

test.each([
  ['alone', testSecret],
  ['beside the real one', ['a-secret-of-yours', { id: 'tests', value: testSecret }]],
])('a receiver in production that takes the public test secret %s warns', (_, secret) => {
  const warned = warnings('production')
  createReceiver({ secret })
  expect(warned()).toEqual([expect.stringContaining('takes the public testSecret')])
})

test('neither a test nor another secret is warned of', () => {
  const inTests = warnings('test')
  createReceiver({ secret: testSecret })
  expect(inTests()).toEqual([])
  const warned = warnings('production')
  createReceiver({ secret: 'a-secret-of-yours' })
  createReceiver({ secret: () => testSecret })
  expect(warned()).toEqual([])
})

test('a short secret is warned of once in a process, and never in a test', () => {
  const inTests = warnings('test')
  createReceiver({ secret: 'abc' })
  expect(inTests()).toEqual([])
  const warned = warnings('production')
  createReceiver({ secret: 'a-secret-of-16-c' })
  createReceiver({ secret: ['a-secret-of-yours', { value: 'abc' }] })
  createReceiver({ secret: new Uint8Array(15).fill(7) })
  expect(warned()).toEqual([expect.stringMatching(/fewer than 16 characters.*openssl rand/)])
  expect(warned().join()).not.toContain('abc')
})
