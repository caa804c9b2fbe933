import { expect, test } from 'vitest'
import { Intake } from '../src/intake.ts'

test('an address keeps its share of what is held while thousands of others come and go', () => {
  const intake = new Intake({ maxBytes: 100, maxInFlightBytes: 1_000, bodyTimeout: 10_000 })
  const held = Array.from({ length: 5 }, () => intake.begin('192.0.2.1'))
  for (const reading of held) expect(reading.take(100)).toBeUndefined()
  for (let one = 0; one < 3_000; one++) {
    const address = `198.51.100.${one}`
    const reading = intake.begin(address)
    expect(reading.take(50)).toBeUndefined()
    intake.end(reading)
  }
  const sixth = intake.begin('192.0.2.1')
  expect(sixth.take(1)).toEqual({ code: 'OVERLOADED' })
  intake.end(sixth)
  for (const reading of held) intake.end(reading)
  expect(intake.begin('192.0.2.1').take(100)).toBeUndefined()
})

test('short bodies are counted before they arrive, up to a quarter of what may be held', () => {
  const intake = new Intake({ maxBytes: 20_000, maxInFlightBytes: 80_000, bodyTimeout: 10_000 })
  const [first, second] = [intake.begin(undefined), intake.begin(undefined)]
  expect(first.reserve(16_384)).toBe(true)
  expect(second.reserve(16_384)).toBe(false)
  expect([first.bytes, second.bytes]).toEqual([16_384, 0])
  intake.end(first)
  expect(second.reserve(16_384)).toBe(true)
  intake.end(second)
})

test.each([[-1], [16_385], [Number.NaN]])('a declared length of %d is not counted', (length) => {
  const intake = new Intake({ maxBytes: 20_000, maxInFlightBytes: 80_000, bodyTimeout: 10_000 })
  const reading = intake.begin(undefined)
  expect([reading.reserve(length), reading.bytes]).toEqual([false, 0])
})

test('what does not fit is not counted, and what is given back may be held by another', () => {
  const intake = new Intake({ maxBytes: 10_000, maxInFlightBytes: 80_000, bodyTimeout: 10_000 })
  for (let one = 0; one < 100; one++) {
    const reading = intake.begin(undefined)
    expect([reading.reserve(10_001), reading.bytes]).toEqual([false, 0])
    intake.end(reading)
  }
  const eight = Array.from({ length: 8 }, () => intake.begin(undefined))
  for (const reading of eight) expect(reading.take(10_000)).toBeUndefined()
  expect(intake.begin(undefined).reserve(1)).toBe(false)
})
