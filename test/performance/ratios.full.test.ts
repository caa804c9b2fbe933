// Speed is held as a ratio to hand-written code in the same process, never as a time. What fails
// once on a busy machine is measured again.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

interface Ratios {
  readonly genuine: number
  readonly forged: number
}

function measure(...besides: string[]): Ratios {
  const file = join(import.meta.dirname, 'ratios.ts')
  const told = execFileSync(process.execPath, [file, ...besides])
  return JSON.parse(String(told))
}

/** The best of three, which ends as soon as one is good enough. */
function best(of: keyof Ratios, enough: number, ...besides: string[]): number {
  const found: number[] = []
  while (found.length < 3 && !found.some((ratio) => ratio >= enough))
    found.push(measure(...besides)[of])
  return Math.max(...found)
}

test('a delivery of 2 KB is taken at no less than a third of the speed of a hand-written recipe', () => {
  expect(best('genuine', 1 / 3)).toBeGreaterThanOrEqual(1 / 3)
})

test('a delivery by the default scheme keeps that speed beside a receiver of a vendor', () => {
  expect(best('genuine', 1 / 3, 'beside-a-vendor')).toBeGreaterThanOrEqual(1 / 3)
})

test('a forged delivery is refused at no less than 0.4 of the speed of a hand-written recipe', () => {
  expect(best('forged', 0.4)).toBeGreaterThanOrEqual(0.4)
})
