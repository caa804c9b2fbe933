import { createReceiver, createWorker } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fixture, testSecret as secret, signedDelivery } from 'idv-webhooks/testing'
import { afterEach, expect, test } from 'vitest'

const unhandled: unknown[] = []
const listener = (error: unknown) => unhandled.push(error)
const others = process.listeners('unhandledRejection')
process.removeAllListeners('unhandledRejection').on('unhandledRejection', listener)
afterEach(() => unhandled.splice(0))

const rejects = async (): Promise<never> => {
  await null
  throw new Error('its database is down')
}
const schema = { '~standard': { version: 1, vendor: 'own', validate: rejects } } as const

test.each([
  ['client', { client: rejects as never }, {}, 500],
  ['envelope', { envelope: rejects as never }, {}, 400],
  ['schema', { schemas: { 'client.created': schema as never } }, {}, 500],
  [
    'handshake',
    { respond: Object.assign(() => undefined, { handshake: rejects as never }) },
    {},
    200,
  ],
  ['waitUntil', {}, { waitUntil: rejects }, 202],
  ['address', {}, { address: rejects as never }, 200],
  ['now', { now: rejects as never }, {}, 500],
])(
  'an async %s that rejects answers, and does not end the process',
  async (_, options, mount, status) => {
    const inbox = status === 202 ? { inbox: createInbox({ store: memoryStore() }) } : {}
    const receiver = createReceiver({ secret, observe: () => {}, ...inbox, ...options })
    receiver.on('client.created', async (_event, context) => {
      if ('client' in options) await context.fetch()
    })
    const worker = status === 202 ? { worker: createWorker(receiver) } : {}
    const handle = toFetch(receiver, { ...worker, ...mount })
    const { body, headers } = await signedDelivery(fixture('client.created'), { secret })
    const response = await handle(
      new Request('http://app.test/', { method: 'POST', body, headers }),
    )
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect([response.status, unhandled]).toEqual([status, []])
  },
)

test('an address function that throws has no address', async () => {
  const receiver = createReceiver({ secret, observe: () => {} })
  const handle = toFetch(receiver, {
    address: () => {
      throw new TypeError('the sender has gone')
    },
  })
  const { body, headers } = await signedDelivery(fixture('client.created'), { secret })
  const response = await handle(new Request('http://app.test/', { method: 'POST', body, headers }))
  expect(response.status).toBe(200)
})

test('the listeners of the test runner are put back', () => {
  process.off('unhandledRejection', listener)
  for (const one of others) process.on('unhandledRejection', one)
})
