// A short campaign of faults; `npm run faults:postgres` is the long one.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { judge } from './campaign/verdict.ts'

const sizes = { KILLS: '4', CRASHES: '1', CUTS: '4', STOP: '0', BLACK_HOLE: '0', ROUNDS: '0' }

test('nothing is lost, doubled or out of order while processes and the server are killed', async () => {
  // The processes run what users get: `npm test` builds it first.
  expect(existsSync('dist/inbox-postgres.js'), 'run npm run build first').toBe(true)
  const script = join(import.meta.dirname, 'campaign', 'run.ts')
  const env = { ...process.env, ...sizes, DELIVERIES: '200', NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(process.execPath, [script], {
    env,
    timeout: 150_000,
  })
  const report = JSON.parse(stdout.slice(0, stdout.indexOf('}') + 1))
  expect(report).toMatchObject({
    kills: 4,
    crashes: 1,
    lost: 0,
    storedTwice: 0,
    effectsTwice: 0,
    overlaps: 0,
    inversions: 0,
  })
  expect(report.acked).toBeGreaterThanOrEqual(200)
  expect(report.slowestRecovery).toBeLessThan(30_000)
}, 180_000)

test('the verdict sees each kind of harm', () => {
  const line = (at: number, what: 'start' | 'end', id: string, pid = 1) =>
    ({ at, what, id, entity: 'e', name: 'w', pid }) as const
  const harmed = judge({
    acked: new Map([['e', ['a', 'b', 'c']]]),
    lines: [
      line(1, 'start', 'a'),
      line(2, 'start', 'b', 2),
      line(3, 'end', 'b', 2),
      line(40, 'start', 'a', 2),
    ],
    stops: [{ at: 9, pid: 1 }],
    effects: [
      { event: 'b', entity: 'e' },
      { event: 'a', entity: 'e' },
      { event: 'a', entity: 'e' },
    ],
    entries: 4,
    keys: 3,
  })
  expect(harmed).toEqual({
    acked: 3,
    lost: 1,
    storedTwice: 1,
    effectsTwice: 1,
    overlaps: 1,
    inversions: 1,
    slowestRecovery: 31,
  })
})
