import { afterEach, expect, test, vi } from 'vitest'
import { steadyClock } from '../../src/foundation/clock.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('the steady clock goes on when the clock of the system is set', () => {
  const before = steadyClock().getTime()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
  expect(steadyClock().getTime()).toBeGreaterThanOrEqual(before)
  expect(steadyClock().getTime() - before).toBeLessThan(60_000)
})
