// A short campaign of waits under kills; `npm run faults:waiting` is the long one.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, test } from 'vitest'
import { temporaryFile } from '../inbox/temporary.ts'

test('no wait misses its event while the process that waits and the worker are killed', async () => {
  const script = join(import.meta.dirname, 'waiting', 'run.ts')
  const sizes = { WAITS: '2000', AT_ONCE: '200', LIMIT: '60000' }
  const env = { ...process.env, ...sizes, STORE: 'sqlite', NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env })
  expect(JSON.parse(stdout)).toMatchObject({ waits: 2000, wrong: 0, missed: 0 })
}, 120_000)

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** The bytes of reachable objects and buffers. */
function held(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

test('10,000 waits hold at most 50 MB and no connection', async () => {
  const inbox = createInbox({ store: sqliteStore(temporaryFile()) })
  await inbox.waitFor('verification:ver_0', { timeout: 0 })
  const before = held()
  const files = process.getActiveResourcesInfo().filter((name) => name !== 'Timeout').length
  const ids = Array.from({ length: 10_000 }, (_, at) => `verification:ver_${at}`)
  const waiting = Promise.all(ids.map((id) => inbox.waitFor(id, { timeout: 3_000 })))
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  expect(held() - before).toBeLessThan(50 * 1024 ** 2)
  const open = process.getActiveResourcesInfo().filter((name) => name !== 'Timeout').length
  expect(open).toBeLessThanOrEqual(files + 1)
  expect((await waiting).every((one) => one === undefined)).toBe(true)
  await inbox.close()
}, 30_000)
