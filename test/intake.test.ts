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
    intake.end(reading, address)
  }
  const sixth = intake.begin('192.0.2.1')
  expect(sixth.take(1)).toEqual({ code: 'OVERLOADED' })
  intake.end(sixth, '192.0.2.1')
  for (const reading of held) intake.end(reading, '192.0.2.1')
  expect(intake.begin('192.0.2.1').take(100)).toBeUndefined()
})
