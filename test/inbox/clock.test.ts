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

test('a stopwatch goes on when its clock is set back', async () => {
  let at = 1_000
  const elapsed = stopwatch(() => new Date(at))
  at -= 1_000
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(elapsed()).toBeGreaterThan(0)
  at += 60_000
  expect(elapsed()).toBe(59_000)
})
