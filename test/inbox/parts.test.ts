import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { steadyClock } from '../../src/clock.ts'
import { createSeal } from '../../src/inbox/encryption.ts'
import { createEntryIds } from '../../src/inbox/entry-id.ts'
import { createRetry, standardDelays } from '../../src/inbox/retry.ts'
import { SilenceWatch } from '../../src/worker/idle-watch.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe('the plan of retries', () => {
  test('is twelve attempts over at most about 22 hours', () => {
    const { attempts, delayAfter } = createRetry({ random: () => 1 - Number.EPSILON })
    const waits = Array.from({ length: attempts - 1 }, (_, at) => delayAfter(at + 1) ?? 0)
    expect(waits).toEqual([...standardDelays])
    const hours = waits.reduce((sum, wait) => sum + wait, 0) / 3_600_000
    expect(hours).toBeGreaterThan(21)
    expect(hours).toBeLessThan(22)
    expect(delayAfter(attempts)).toBeUndefined()
  })

  test('is fully jittered: any wait from nothing to the longest', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (number) => {
        const wait = createRetry({ random: () => number }).delayAfter(3) ?? -1
        expect(wait).toBe(Math.round(number * 30_000))
      }),
    )
  })

  test('repeats its last wait', () => {
    const { delayAfter } = createRetry({ attempts: 5, delays: [1, 2], random: () => 1 })
    expect([1, 2, 3, 4, 5].map(delayAfter)).toEqual([1, 2, 2, 2, undefined])
  })
})

describe('a seal', () => {
  const key = 'a1'.repeat(32)
  const text = new TextEncoder().encode('a person')

  test('opens what it sealed, for the same row alone', () => {
    const seal = createSeal({ key })
    const sealed = seal.seal(text, 'one')
    expect(seal.open(sealed, 'one')).toEqual(Buffer.from(text))
    expect(seal.open(sealed, 'two')).toBeUndefined()
    expect(Buffer.from(sealed).includes('person')).toBe(false)
    expect(seal.seal(text, 'one')).not.toEqual(sealed)
  })

  test('refuses bytes of which any was changed or cut off', () => {
    const seal = createSeal({ key })
    const sealed = seal.seal(text, 'one')
    for (let at = 1; at < sealed.length; at++) {
      const changed = Uint8Array.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(seal.open(changed, 'one'), `byte ${at}`).toBeUndefined()
      expect(seal.open(sealed.subarray(0, at), 'one'), `first ${at}`).toBeUndefined()
    }
  })

  test('takes keys as bytes, hex or base64, and knows its own', () => {
    const bytes = Buffer.from(key, 'hex')
    const sealed = createSeal({ key }).seal(text, 'one')
    for (const same of [bytes, bytes.toString('base64')]) {
      expect(createSeal({ key: same }).open(sealed, 'one')).toEqual(Buffer.from(text))
      expect(createSeal({ key: same }).isCurrent(sealed)).toBe(true)
    }
    const rotated = createSeal({ key: 'b2'.repeat(32), previous: [key] })
    expect(rotated.open(sealed, 'one')).toEqual(Buffer.from(text))
    expect(rotated.isCurrent(sealed)).toBe(false)
    expect(createSeal().open(createSeal().seal(text, 'x'), 'y')).toEqual(text)
    expect(createSeal().open(sealed, 'one')).toBeUndefined()
  })
})

test('ids of entries grow, whatever the clock does, and are UUIDs of version 7', () => {
  let time = 1_000_000
  const next = createEntryIds(() => new Date(time))
  const ids = Array.from({ length: 10_000 }, (_, at) => {
    if (at % 3000 === 0) time -= 500
    return next()
  })
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('the steady clock goes on when the clock of the system is set', () => {
  const before = steadyClock().getTime()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
  expect(steadyClock().getTime()).toBeGreaterThanOrEqual(before)
  expect(steadyClock().getTime() - before).toBeLessThan(60_000)
})

describe('silence', () => {
  test('is told once, after many times the usual gap and never before a minute', () => {
    const watch = new SilenceWatch(10)
    let at = 0
    for (; at < 30_000; at += 1_000) watch.arrived(at + 1_000)
    expect(watch.check(at + 59_999)).toBeUndefined()
    expect(watch.check(at + 60_000)).toEqual({ since: at, usual: 1_000 })
    expect(watch.check(at + 90_000)).toBeUndefined()
    at += 100_000
    watch.arrived(at)
    expect(watch.check(at + 60_000)).toEqual({ since: at, usual: 1_000 })
  })

  test('is not told of a sender that has hardly spoken', () => {
    const watch = new SilenceWatch(10)
    for (let at = 0; at < 10; at++) watch.arrived(at)
    expect(watch.check(1e9)).toBeUndefined()
  })
})
