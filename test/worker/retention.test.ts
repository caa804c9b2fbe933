// A worker erases what is past its retention, at its start and every hour.
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fakeClock } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'
import { event, setUp } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

test.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(temporaryFile())],
])('a sweep erases the payloads that are due, and in the end the keys: %s', async (_, create) => {
  const clock = fakeClock()
  const store = Object.assign(create(), { now: clock.now })
  /** Each run has a worker of its own, as each start of a process has. */
  const run = async () => {
    const parts = setUp({ store, retry: { attempts: 1 } })
    parts.receiver.on('client.created', () => Promise.reject(new Error('a bug')))
    parts.receiver.on('client.updated', () => {})
    await parts.worker.runOnce()
    return parts
  }
  const [dead, done] = [event('client.created'), event('client.updated')]
  const { deliver, worker } = await run()
  for (const one of [dead, done]) await deliver(one)
  await worker.runOnce()
  const left = async () => {
    const { entries } = await (await run()).inbox.find()
    return entries.map(({ state, erased }) => `${state} ${erased}`).toSorted()
  }
  clock.advance({ days: 6 })
  expect(await left()).toEqual(['dead false', 'done false'])
  clock.advance({ days: 2 })
  expect(await left()).toEqual(['dead false', 'done true'])
  expect((await (await run()).deliver(done)).kind).toBe('duplicate')
  clock.advance({ days: 112 })
  expect(await left()).toEqual([])
  expect((await (await run()).deliver(done)).kind).toBe('accepted')
})
