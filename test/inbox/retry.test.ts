import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRetry, standardDelays } from '../../src/inbox/retry.ts'

test('the plan of retries is twelve attempts over at most about 22 hours', () => {
  const { attempts, delayAfter } = createRetry({ random: () => 1 - Number.EPSILON })
  const waits = Array.from({ length: attempts - 1 }, (_, at) => delayAfter(at + 1) ?? 0)
  expect(waits).toEqual([...standardDelays])
  const hours = waits.reduce((sum, wait) => sum + wait, 0) / 3_600_000
  expect(hours).toBeGreaterThan(21)
  expect(hours).toBeLessThan(22)
  expect(delayAfter(attempts)).toBeUndefined()
})

test('a wait is fully jittered: anything from nothing to the longest', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (number) => {
      const wait = createRetry({ random: () => number }).delayAfter(3) ?? -1
      expect(wait).toBe(Math.round(number * 30_000))
    }),
  )
})

test('the last wait is repeated for every further attempt', () => {
  const { delayAfter } = createRetry({ attempts: 5, delays: [1, 2], random: () => 1 })
  expect([1, 2, 3, 4, 5].map(delayAfter)).toEqual([1, 2, 2, 2, undefined])
})

test.each([
  ['NaN', () => Number.NaN],
  ['nothing', () => undefined],
  ['a promise', async () => 0.5],
  ['too much', () => 1e12],
])('a random function that gives %s makes no entry wait for ever', (_, random) => {
  const { delayAfter } = createRetry({ delays: [1_000], random: random as () => number })
  const wait = delayAfter(1)
  expect(wait).toBeGreaterThanOrEqual(0)
  expect(wait).toBeLessThanOrEqual(1_000)
})
