// The work that everybody pays for: functions of the package that one delivery through Express
// enters. A count is exact on any machine; it only goes down.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('one delivery enters no more functions than its budget', () => {
  const file = join(import.meta.dirname, 'entries.ts')
  const { plain, kept, settled } = JSON.parse(
    execFileSync(process.execPath, [file], { encoding: 'utf8' }),
  )
  expect(plain, 'handled without an inbox').toBeLessThanOrEqual(107)
  expect(kept, 'kept in SQLite, until the 202').toBeLessThanOrEqual(159)
  expect(settled, 'kept, handled and settled').toBeLessThanOrEqual(290)
})
