import { expect, test } from 'vitest'
import { measureKept } from '../kept/kept.ts'

test('each of 100,000 handled deliveries holds at most 40 bytes, through every adapter and inbox', {
  timeout: 1_800_000,
}, async () => {
  const kept = await measureKept(100_000, 'all')
  expect(kept).toHaveLength(16)
  expect(kept.filter(({ bytes }) => bytes > 40)).toEqual([])
})
