// Bundles of one process, each with its own copy of the package and its own inbox, share a file.
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { processState } from '../../src/host/process.ts'
import { event, setUp } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** The leases that the inboxes of this process hold. */
const held = () => [...processState().leaseHolders].flatMap((one) => [...one.leases()]).length

/** An inbox of the program, and one of a bundle in which a handler is at work. */
async function atWork() {
  const file = temporaryFile()
  const first = setUp({ store: sqliteStore(file) })
  let begun = 0
  first.receiver.on('*', () => void begun++)
  await first.worker.runOnce()
  vi.resetModules()
  const copy = await import('../inbox/admin.ts')
  const stores = await import('idv-webhooks/inbox/sqlite')
  expect(copy.setUp).not.toBe(setUp)
  const second = copy.setUp({ store: stores.sqliteStore(file) })
  const entered = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  onTestFinished(() => end.resolve())
  second.receiver.on('*', async () => {
    begun++
    entered.resolve()
    await end.promise
  })
  await second.deliver(event())
  const running = second.worker.runOnce()
  await entered.promise
  // The machine sleeps for an hour.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  return { first, second, running, end, begun: () => begun }
}

test('an entry at work in one inbox of this process stays at work for the others, however long the machine slept', async () => {
  const { first, second, running, end, begun } = await atWork()
  expect(await first.worker.runOnce()).toMatchObject({ done: 0 })
  expect([begun(), first.settled(), held()]).toEqual([1, [], 1])
  end.resolve()
  expect(await running).toMatchObject({ done: 1 })
  expect(second.settled()).toEqual(['done'])
  expect(await first.worker.runOnce()).toMatchObject({ done: 0 })
  expect([begun(), held()]).toEqual([1, 0])
})

test.each(['drained', 'closed'])('an inbox that was %s holds nothing', async (how) => {
  const { first, second, begun } = await atWork()
  await (how === 'drained' ? second.worker.drain({ grace: 0 }) : second.inbox.close())
  expect(held()).toBe(0)
  await expect.poll(async () => (await first.worker.runOnce()).done).toBe(1)
  expect(begun()).toBe(2)
})
