// A short campaign of faults; `npm run faults:postgres` is the long one.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { steps } from './campaign/steps.ts'
import { judge } from './campaign/verdict.ts'

const script = join(import.meta.dirname, 'campaign', 'run.ts')

/** Runs the campaign in processes that run what users get: `npm test` builds it first. */
async function campaign(sizes: Record<string, string>) {
  expect(existsSync('dist/inbox-postgres.js'), 'run npm run build first').toBe(true)
  const env = { ...process.env, ...sizes, NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(process.execPath, [script], {
    env,
    timeout: 150_000,
  })
  return JSON.parse(stdout)
}

const nothing = {
  KILLS: '0',
  STEP_ROUNDS: '0',
  CRASHES: '0',
  CUTS: '0',
  STOP: '0',
  BLACK_HOLE: '0',
}

const promised = {
  lost: 0,
  storedTwice: 0,
  effectsTwice: 0,
  overlaps: 0,
  inversions: 0,
  crashedProcesses: 0,
}

test('nothing is lost, doubled or out of order while processes and the server are killed', async () => {
  const sizes = { KILLS: '4', KILL_EVERY: '4500', CRASHES: '2', CRASH_EVERY: '6000', CUTS: '10' }
  const rest = { STEP_ROUNDS: '1', DELIVERIES: '400', FAILOVER: '0', ROUNDS: '0' }
  const report = await campaign({ ...nothing, ...sizes, ...rest })
  expect(report).toMatchObject({ kills: 4, crashes: 2, ...promised })
  expect(Object.keys(report.steps).sort()).toEqual([...steps.receiver, ...steps.worker].sort())
  expect(report.acked).toBeGreaterThanOrEqual(400)
  expect(report.slowestBesideOutages).toBeLessThan(30_000)
}, 180_000)

test('a synchronous standby takes over without a loss; an asynchronous one that lags loses', async () => {
  const report = await campaign({ ...nothing, DELIVERIES: '0', FAILOVER: '0', ROUNDS: '1' })
  expect(report.synchronous.lost).toBe(0)
  expect(report.synchronous.acked).toBeGreaterThan(0)
  expect(report.asynchronous.lost).toBeGreaterThan(0)
}, 180_000)

test('the verdict sees each kind of harm', () => {
  const line = (at: number, what: 'start' | 'end', id: string, pid = 1) =>
    ({ at, what, id, entity: 'e', attempt: pid, name: 'w', pid }) as const
  const evidence = {
    acked: new Map([['e', ['a', 'b', 'c']]]),
    lines: [
      line(1, 'start', 'a'),
      line(2, 'start', 'b', 2),
      line(3, 'end', 'b', 2),
      line(40, 'start', 'a', 2),
    ],
    stops: [{ at: 9, pid: 1 }],
    outages: [{ from: 35, to: 38 }],
    effects: [
      { event: 'b', entity: 'e' },
      { event: 'a', entity: 'e' },
      { event: 'a', entity: 'e' },
    ],
    entries: 4,
    keys: 3,
  }
  expect(judge(evidence)).toEqual({
    acked: 3,
    lost: 1,
    storedTwice: 1,
    effectsTwice: 1,
    overlaps: 1,
    inversions: 1,
    slowestRecovery: 31,
    slowestBesideOutages: 28,
    recoveries: 1,
    slowestReturn: 2,
  })
  // Another process took it over and ended before its handler began.
  const lines = evidence.lines.map((one) => (one.at === 40 ? { ...one, attempt: 3 } : one))
  expect(judge({ ...evidence, lines })).toMatchObject({
    slowestRecovery: 31,
    slowestBesideOutages: 14,
  })
})
