import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fixture, signedDelivery } from 'idv-webhooks/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { createAgeClock, steadyClock, stopwatch } from '../../src/foundation/clock.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('the steady clock goes on when the clock of the system is set', () => {
  const before = steadyClock().getTime()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
  expect(steadyClock().getTime()).toBeGreaterThanOrEqual(before)
  expect(steadyClock().getTime() - before).toBeLessThan(60_000)
})

test('the clock for ages goes on when the clock of the system is set back, and follows it ahead', () => {
  const clock = createAgeClock()
  const before = clock().getTime()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
  const after = clock().getTime()
  expect(after).toBeGreaterThanOrEqual(before)
  expect(after - before).toBeLessThan(60_000)
  vi.setSystemTime(Date.now() + 600_000)
  expect(clock().getTime() - after).toBeGreaterThanOrEqual(600_000)
  vi.setSystemTime(Date.now() + 600_000)
  expect(clock().getTime() - after).toBeGreaterThanOrEqual(1_200_000)
  expect(clock().getTime() - after).toBeLessThan(1_260_000)
})

test('a clock for ages begins with the time of the system, however long its process has slept', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * 86_400_000 })
  expect(Math.abs(createAgeClock()().getTime() - Date.now())).toBeLessThan(3_600_000)
})

test('an inbox erases what is over although the machine slept all the while', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const inbox = createInbox({ store: sqliteStore(':memory:') })
  const receiver = createReceiver({ secret: 'a-secret-of-yours', inbox, observe: () => {} })
  receiver.on('*', () => {})
  const delivery = await signedDelivery(fixture('client.created'), { secret: 'a-secret-of-yours' })
  await receiver.receive(delivery)
  expect(await createWorker(receiver).runOnce()).toMatchObject({ done: 1 })
  const sleep = async (days: number) => {
    let [erased, deleted] = [0, 0]
    for (let day = 0; day < days; day++) {
      vi.setSystemTime(Date.now() + 86_400_000)
      const purged = await inbox.purge()
      erased += purged.erased
      deleted += purged.deleted
    }
    return { erased, deleted: deleted > 0 }
  }
  expect(await sleep(6)).toEqual({ erased: 0, deleted: false })
  expect(await sleep(2)).toEqual({ erased: 1, deleted: false })
  expect(await sleep(30)).toEqual({ erased: 0, deleted: true })
  await inbox.close()
})

test('a stopwatch goes on when its clock is set back', async () => {
  let at = 1_000
  const elapsed = stopwatch(() => new Date(at))
  at -= 1_000
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(elapsed()).toBeGreaterThan(0)
  at += 60_000
  expect(elapsed()).toBe(59_000)
})
