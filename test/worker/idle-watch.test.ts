import { expect, test } from 'vitest'
import { IdleWatch } from '../../src/worker/worker.ts'

test('silence is reported once, after many times the usual gap and never before a minute', () => {
  const watch = new IdleWatch(10)
  let at = 0
  for (; at < 30_000; at += 1_000) watch.arrived(at + 1_000)
  expect(watch.check(at + 59_999)).toBeUndefined()
  expect(watch.check(at + 60_000)).toEqual({ since: at, usual: 1_000 })
  expect(watch.check(at + 90_000)).toBeUndefined()
  at += 100_000
  watch.arrived(at)
  expect(watch.check(at + 60_000)).toEqual({ since: at, usual: 1_000 })
})

test('silence is not reported of a sender that has hardly sent anything', () => {
  const watch = new IdleWatch(10)
  for (let at = 0; at < 10; at++) watch.arrived(at)
  expect(watch.check(1e9)).toBeUndefined()
})
