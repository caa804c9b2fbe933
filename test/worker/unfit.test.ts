// Events whose data do not fit, where a receiver refuses those.

import { memoryStore } from 'idv-webhooks/inbox'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { event, setUp } from '../inbox/admin.ts'

const submitted = 'verification.submitted'
const strict = { validate: 'reject' as const }

test('an event that its own receiver rejects is a dead letter at once, and its lane continues', async () => {
  const { deliver, inbox, receiver, worker } = setUp({ receiver: strict })
  const ran: string[] = []
  receiver.on('*', ({ name }) => ran.push(name))
  await deliver(event(submitted, { status: 5 }))
  const { entity } = (await inbox.find()).entries[0] ?? {}
  expect(entity).toEqual({ type: 'verification', id: 'ver_1' })
  await deliver(event('verification.approved', { status: 'approved' }))
  expect(await worker.runOnce()).toMatchObject({ dead: 1, done: 1, retry: 0 })
  expect(ran).toEqual(['verification.approved'])
  const [dead] = (await inbox.find({ state: 'dead' })).entries
  expect(dead).toMatchObject({ name: submitted, reason: 'EVENT_INVALID', attempts: 1 })
})

test('an event that another version accepts waits for it', async () => {
  const store = memoryStore()
  const newer = setUp({ store, receiver: strict })
  const schemas = { [submitted]: z.object({ old: z.string() }) }
  const older = setUp({ store, receiver: { ...strict, schemas } })
  newer.receiver.on('*', () => {})
  await newer.deliver(event(submitted, { status: 'submitted' }))
  expect(await older.worker.runOnce({ limit: 1 })).toMatchObject({ retry: 1, dead: 0 })
  expect(await newer.worker.runOnce()).toMatchObject({ done: 1 })
})

test('an event that only the next version accepts is redriven to it', async () => {
  const store = memoryStore()
  const schemas = { [submitted]: z.object({ old: z.string() }) }
  const older = setUp({ store, receiver: { ...strict, schemas } })
  await older.deliver(event(submitted, { status: 'submitted' }))
  expect(await older.worker.runOnce()).toMatchObject({ dead: 1 })
  await older.worker.drain()
  const newer = setUp({ store, receiver: strict })
  newer.receiver.on('*', () => {})
  expect(await newer.inbox.redrive({ state: 'dead' })).toBe(1)
  expect(await newer.worker.runOnce()).toMatchObject({ done: 1 })
})

test.each([
  ['refuses it', strict],
  [
    'throws',
    {
      schemas: {
        [submitted]: z.unknown().transform(() => {
          throw new Error('down')
        }),
      },
    },
  ],
])(
  'one that arrived unread is of its entity once it can be read, though a schema %s',
  async (_, receiver) => {
    const store = memoryStore()
    const before = setUp({ store, receiver: { envelope: { name: 'kind' } } })
    await before.deliver(event(submitted, { status: 5 }))
    expect(await before.worker.runOnce()).toMatchObject({ dead: 1 })
    await before.worker.drain()
    const { inbox, worker } = setUp({ store, receiver })
    await inbox.redrive({ state: 'dead' })
    await worker.runOnce()
    const [dead] = (await inbox.find({ state: 'dead' })).entries
    expect(dead).toMatchObject({ name: submitted, entity: { type: 'verification', id: 'ver_1' } })
    expect(await inbox.forget('verification:ver_1')).toBe(1)
  },
)

test('a schema that throws when an event is kept fails its attempts, which are retried', async () => {
  const schemas = {
    [submitted]: z.unknown().transform(() => {
      throw new Error('down')
    }),
  }
  const { deliver, inbox, worker } = setUp({ receiver: { ...strict, schemas } })
  expect((await deliver(event(submitted))).kind).toBe('accepted')
  expect(await worker.runOnce()).toMatchObject({ retry: 2, dead: 1 })
  const [dead] = (await inbox.find({ state: 'dead' })).entries
  expect(dead?.reason).toBe('HANDLER_FAILED')
})
