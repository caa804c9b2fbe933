import { expect, test } from 'vitest'
import { createEntryIds } from '../../src/inbox/inbox.ts'

test('ids of entries grow, whatever the clock does, and are UUIDs of version 7', () => {
  let time = 1_000_000
  const next = createEntryIds()
  const ids = Array.from({ length: 10_000 }, (_, at) => {
    if (at % 3000 === 0) time -= 500
    return next(time)
  })
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
