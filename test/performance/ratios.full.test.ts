// Speed is held as a ratio to hand-written code in the same process, never as a time: at nine tenths
// of what the package reaches, by the median of four processes, because one in four is an outlier.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noCollection } from '../../bench/allocated.ts'
import { median } from '../../bench/compare.ts'

interface Ratios {
  readonly genuine: number
  readonly forged: number
}

/** The speeds that the package reaches in this measurement, as parts of the recipe's. */
const reached: Ratios = { genuine: 0.84, forged: 1.3 }
/** The bytes that one delivery allocates, as a multiple of the recipe's. */
const reachedBytes = 1.33

const file = join(import.meta.dirname, 'ratios.ts')
const run = (...args: readonly string[]) =>
  JSON.parse(String(execFileSync(process.execPath, ['--expose-gc', ...args])))

function measured(...besides: readonly string[]): Ratios {
  const runs = Array.from({ length: 4 }, (): Ratios => run(file, ...besides))
  const of = (key: keyof Ratios) => median(runs.map((one) => one[key]))
  return { genuine: of('genuine'), forged: of('forged') }
}

test('deliveries and forgeries of 2 KB keep their speed beside a hand-written recipe', () => {
  const { genuine, forged } = measured()
  expect.soft(genuine, 'a delivery').toBeGreaterThanOrEqual(0.9 * reached.genuine)
  expect.soft(forged, 'a forgery').toBeGreaterThanOrEqual(0.9 * reached.forged)
})

test('a delivery by the default scheme keeps its speed beside a receiver of a vendor', () => {
  const { genuine } = measured('beside-a-vendor')
  expect(genuine).toBeGreaterThanOrEqual(0.9 * reached.genuine)
})

test('a delivery of 2 KB allocates no more than it did', () => {
  const { allocated } = run(...noCollection, file, 'allocations')
  expect(allocated).toBeLessThanOrEqual(1.05 * reachedBytes)
})
