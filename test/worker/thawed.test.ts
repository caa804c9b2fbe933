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

test.each([
  ['is new', ['second'], 'stored'],
  ['has failed as well', ['first', 'second'], 'retry'],
])(
  'keeps the failure of a handler that it did not come to, where the one before it %s',
  async (_, earlier, state) => {
    const store = memoryStore()
    const parts = { store, retry: { delays: [0, 60_000] } }
    const [old, fresh] = [setUp(parts), setUp(parts)]
    const ran: string[] = []
    const fails = (id: string) => () => {
      ran.push(id)
      throw new Error('not yet')
    }
    for (const id of earlier) old.receiver.on('*', fails(id), { id })
    for (const id of ['first', 'second']) fresh.receiver.on('*', fails(id), { id })
    await old.deliver(event())
    await old.worker.runOnce({ limit: 1 })
    const { checkpoint } = store
    store.checkpoint = () => Promise.reject(new Error('the connection is gone'))
    await fresh.worker.runOnce({ limit: 1 })
    store.checkpoint = checkpoint
    expect(ran).toEqual([...earlier, 'first'])
    const [entry] = (await fresh.inbox.find()).entries
    const failed = entry?.failures.map(({ handler }) => handler)
    expect([entry?.state, failed]).toEqual([state, ['first', 'second']])
  },
)

test('a failure that repeats itself while checkpoints fail counts each time', async () => {
  const store = memoryStore()
  const { deliver, inbox, receiver, worker } = setUp({ store })
  store.checkpoint = () => Promise.reject(new Error('the connection is gone'))
  const ran: string[] = []
  const mail = () => {
    ran.push('first')
    throw new Error('the mail server is down')
  }
  receiver.on('*', mail, { id: 'first' })
  receiver.on('*', () => ran.push('second'), { id: 'second' })
  await deliver(event())
  expect(await worker.runOnce({ limit: 10 })).toEqual({
    ...{ done: 0, skipped: 0, lost: 0 },
    ...{ released: 1, retry: 2, dead: 1 },
  })
  expect(ran).toEqual(['first', 'first', 'first', 'first'])
  const [entry] = (await inbox.find()).entries
  expect(entry?.failures).toMatchObject([{ handler: 'first', code: 'HANDLER_FAILED' }])
})

test('continues with the others if one has failed', async () => {
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
