// A process that stood still while another took its entry, and goes on.

import { NonRetryable } from 'idv-webhooks'
import { memoryStore } from 'idv-webhooks/inbox'
import { expect, test } from 'vitest'
import { event, setUp } from '../inbox/admin.ts'

test.each([
  ['failed', true],
  ['succeeded', false],
])('begins no further handler after one that %s', async (_, fails) => {
  const store = memoryStore()
  const { deliver, receiver, worker } = setUp({ store })
  const ran: string[] = []
  receiver.on('*', async () => {
    ran.push('first')
    if (ran.length > 1) return
    // Meanwhile another has counted a crash.
    const [lapsed] = await store.lapsed(Number.MAX_SAFE_INTEGER)
    if (!lapsed) throw new Error('nothing is leased')
    const { id, fence } = lapsed
    const retry = { to: 'retry', reason: 'CRASHED', failures: [], handled: [] } as const
    await store.settle({ ...retry, lease: { id, fence }, at: 0, due: 0, sweeps: true })
    if (fails) throw new Error('the connection is gone')
  })
  receiver.on('*', () => ran.push('second'))
  await deliver(event())
  expect(await worker.runOnce()).toMatchObject({ done: 1 })
  expect(ran).toEqual(['first', 'first', 'second'])
})

test.each([
  ['failed', true],
  ['succeeded', false],
])(
  'begins no further handler after one that %s while the store does not answer',
  async (_, fails) => {
    const store = memoryStore()
    const { deliver, receiver, worker } = setUp({ store })
    const ran: string[] = []
    const checkpoint = store.checkpoint.bind(store)
    receiver.on('*', () => {
      ran.push('first')
      if (ran.length > 1) return
      store.checkpoint = () => {
        store.checkpoint = checkpoint
        return Promise.reject(new Error('the connection is gone'))
      }
      if (fails) throw new Error('the connection is gone')
    })
    receiver.on('*', () => ran.push('second'))
    await deliver(event())
    expect(await worker.runOnce()).toMatchObject({ released: 1, retry: 0, done: 1 })
    expect(ran).toEqual(fails ? ['first', 'first', 'second'] : ['first', 'second'])
  },
)

test('is not final while the store does not answer and others have not had their turn', async () => {
  const store = memoryStore()
  const { deliver, receiver, worker } = setUp({ store })
  const ran: string[] = []
  const checkpoint = store.checkpoint.bind(store)
  store.checkpoint = () => {
    store.checkpoint = checkpoint
    return Promise.reject(new Error('the connection is gone'))
  }
  receiver.on('*', () => {
    ran.push('first')
    throw new NonRetryable('for good')
  })
  receiver.on('*', () => ran.push('second'))
  await deliver(event())
  expect(await worker.runOnce()).toMatchObject({ released: 1, dead: 1 })
  expect(ran).toEqual(['first', 'first', 'second'])
})

test('goes on with the others where one has failed', async () => {
  const { deliver, receiver, worker } = setUp()
  const ran: string[] = []
  receiver.on('*', () => {
    ran.push('first')
    if (ran.length === 1) throw new Error('not yet')
  })
  receiver.on('*', () => ran.push('second'))
  await deliver(event())
  expect(await worker.runOnce()).toMatchObject({ retry: 1, done: 1 })
  expect(ran).toEqual(['first', 'second', 'first'])
})
