import { expect, test } from 'vitest'
import { measureKept } from './kept.ts'

test('a handled delivery keeps at most 40 bytes, through every adapter and with an inbox', {
  timeout: 400_000,
}, async () => {
  const kept = await measureKept(6_000, 'short')
  expect(kept).toHaveLength(10)
  expect(kept.filter(({ bytes }) => bytes > 40)).toEqual([])
})
