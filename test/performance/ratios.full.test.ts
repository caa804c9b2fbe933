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
  readonly allocated: number
}

/** What the package reaches in this measurement, of the recipe. */
const reached: Ratios = { genuine: 0.82, forged: 1.26, allocated: 1.335 }

function measured(...besides: string[]): Ratios {
  const file = join(import.meta.dirname, 'ratios.ts')
  const runs = Array.from({ length: 4 }, (): Ratios => {
    const told = execFileSync(process.execPath, ['--expose-gc', ...noCollection, file, ...besides])
    return JSON.parse(String(told))
  })
  const of = (key: keyof Ratios) => median(runs.map((run) => run[key]))
  return { genuine: of('genuine'), forged: of('forged'), allocated: of('allocated') }
}

test('deliveries and forgeries of 2 KB keep their speed beside a hand-written recipe', () => {
  const { genuine, forged, allocated } = measured()
  expect.soft(genuine, 'a delivery').toBeGreaterThanOrEqual(0.9 * reached.genuine)
  expect.soft(forged, 'a forgery').toBeGreaterThanOrEqual(0.9 * reached.forged)
  expect.soft(allocated, 'bytes of a delivery').toBeLessThanOrEqual(1.05 * reached.allocated)
})

test('a delivery by the default scheme keeps its speed beside a receiver of a vendor', () => {
  const { genuine } = measured('beside-a-vendor')
  expect(genuine).toBeGreaterThanOrEqual(0.9 * reached.genuine)
})
