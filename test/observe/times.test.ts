import { createWorker, type Observation } from 'idv-webhooks'
import { expect, test } from 'vitest'
import { everything } from './everything.ts'

test('every observation says when it began, when it was over, and how long it took', async () => {
  const seen: Observation[] = []
  await everything({ observe: (one) => void seen.push(one) })
  expect(new Set(seen.map(({ type }) => type))).toEqual(
    new Set(['outcome', 'attempt', 'settled', 'operated', 'store']),
  )
  for (const { type, at, startedAt, duration } of seen) {
    expect(duration, type).toBeGreaterThanOrEqual(0)
    const between = at.getTime() - (startedAt?.getTime() ?? Number.NaN)
    expect(Math.abs(between - (duration ?? 0)), type).toBeLessThanOrEqual(1)
  }
  const attempts = seen.filter((one) => one.type === 'attempt')
  expect(attempts.map(({ handler, lag }) => [handler, lag === undefined])).toEqual([
    ['crm', false],
    ['mail', true],
    ['mail', true],
  ])
  expect(attempts[0]?.lag).toBeGreaterThanOrEqual(90_000)
})

test('a replay has no lag', async () => {
  const seen: Observation[] = []
  const { inbox, receiver } = await everything({ observe: (one) => void seen.push(one) })
  const [done] = (await inbox.find({ state: 'done' })).entries
  expect(await inbox.replay(done?.id ?? '')).toBe(true)
  seen.length = 0
  await createWorker(receiver).runOnce()
  const attempt = seen.find(({ type }) => type === 'attempt')
  expect(attempt).toMatchObject({ ok: true, handler: 'crm' })
  expect(attempt).not.toHaveProperty('lag')
})
