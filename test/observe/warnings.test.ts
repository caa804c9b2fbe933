// How often the default observer warns: once for each kind, and each code within its own bound.
import { setImmediate } from 'node:timers/promises'
import { createReceiver, type ReceiverOptions } from 'idv-webhooks'
import { signedDelivery, testSecret } from 'idv-webhooks/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { event, setUp } from '../inbox/admin.ts'

beforeEach(() => void vi.stubEnv('NODE_ENV', 'development'))
afterEach(() => void vi.unstubAllEnvs())

type Warning = Error & { readonly code?: string }

/** The warnings of a process while `work` runs. */
async function warningsOf(work: () => Promise<unknown>): Promise<readonly Warning[]> {
  const warnings: Warning[] = []
  const hear = (warning: Error) => warnings.push(warning)
  process.on('warning', hear)
  await work()
  await setImmediate()
  process.off('warning', hear)
  return warnings
}

const failed = (code: string) => (warning: Warning) => warning.code === `IDV_${code}`

async function deliver(options: Partial<ReceiverOptions>, times: number) {
  const receiver = createReceiver({ secret: testSecret, ...options })
  receiver.on('client.created', () => Promise.reject(new Error('billing is down')))
  for (let at = 0; at < times; at++) await receiver.receive(await signedDelivery(event()))
  await receiver.receive(await signedDelivery(event('client.created')))
}

test('a look-up of secrets that throws another text each time is one warning', async () => {
  let count = 0
  const secret = () => Promise.reject(new Error(`no tenant t${++count}`))
  const warnings = await warningsOf(() => deliver({ secret }, 150))
  expect(count).toBe(151)
  expect(warnings.map(({ code }) => code)).toEqual(['IDV_SECRET_UNAVAILABLE'])
  expect(warnings[0]?.message).toContain('Error: no tenant t1\n')
})

test('a handler of a worker that throws another text each time is one warning', async () => {
  const { worker, receiver, deliver } = setUp({ receiver: { observe: undefined } })
  let count = 0
  receiver.on('*', () => Promise.reject(new Error(`no account a${++count}`)))
  const warnings = await warningsOf(async () => {
    await deliver(event())
    await deliver(event('client.created'))
    await worker.runOnce()
  })
  expect(count).toBeGreaterThan(3)
  expect(warnings.filter(failed('HANDLER_FAILED'))).toHaveLength(1)
})

test('a code that has used up its warnings says so, and silences no other', async () => {
  let count = 0
  // Its class differs each time, until the look-up works.
  const secret = () => {
    if (++count > 150) return testSecret
    throw Object.assign(new Error('no'), { name: `No${count}Error` })
  }
  const warnings = await warningsOf(() => deliver({ secret }, 150))
  const missing = warnings.filter(failed('SECRET_UNAVAILABLE'))
  expect(missing).toHaveLength(100)
  const last = '(100 IDV_SECRET_UNAVAILABLE warnings were shown: no more follow)'
  expect(missing.map(({ message }) => message.endsWith(last)).indexOf(true)).toBe(99)
  expect(warnings.filter(failed('HANDLER_FAILED'))).toHaveLength(1)
})

test('the last warning of a retry that waits says that no more are shown', async () => {
  const retry = { attempts: 12, delays: [100_000], random: () => 1 }
  const { worker, receiver, deliver } = setUp({ retry, receiver: { observe: undefined } })
  receiver.on('*', () => Promise.reject(new Error('billing is down')))
  const warnings = await warningsOf(async () => {
    for (let at = 0; at < 110; at++) await deliver(event(undefined, { id: `ver_${at}` }))
    await worker.runOnce()
  })
  const waiting = warnings.filter(failed('RETRY_WAITS')).map(({ message }) => message)
  expect(waiting).toHaveLength(100)
  expect(waiting.at(-1)).toContain('(100 IDV_RETRY_WAITS warnings were shown: no more follow)')
})

test.each([undefined, () => {}])(
  'the first conflict is a warning, for those without an observer: %s',
  async (observe) => {
    const { receiver } = setUp({ receiver: { observe } })
    receiver.on('*', () => {})
    const warnings = await warningsOf(async () => {
      for (const name of ['submitted', 'approved', 'approved', 'expired']) {
        const body = { id: '5', event: `verification.${name}`, data: { id: `ver_${name}` } }
        await receiver.receive(await signedDelivery(body))
      }
    })
    const conflicts = warnings.filter(failed('CONFLICT')).map(({ message }) => message)
    expect(conflicts).toHaveLength(observe ? 0 : 1)
    if (!observe)
      expect(conflicts[0]).toMatch(/^a delivery \(verification\.approved\) has the id of/)
  },
)
