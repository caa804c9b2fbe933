// The examples on Postgres as they stand, in processes of their own, against the built package.
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { poolOf, servers } from './servers.ts'

const root = join(import.meta.dirname, '../../..')

/** Runs a program, sends it two deliveries of which one is a repetition; gives what it printed. */
async function outputOf(program: string, env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [program], {
    cwd: mkdtempSync(join(tmpdir(), 'idv-example-')),
    env: { ...process.env, NODE_OPTIONS: '', WEBHOOK_SECRET: testSecret, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  const said = (pattern: RegExp) =>
    expect.poll(() => pattern.exec(printed)?.[1], { timeout: 20_000 }).toBeTruthy()
  child.stdout.on('data', (part) => {
    printed += part
  })
  await said(/listening on port: (\d+)/)
  const port = /listening on port: (\d+)/.exec(printed)?.[1]
  const data = { id: 'ver_1' }
  const event = fixture('verification.approved', { id: 'evt_1', data })
  const { body, headers } = await signedDelivery(event, { secret: testSecret })
  const init = {
    method: 'POST',
    body: Buffer.from(body),
    headers: headers as Record<string, string>,
  }
  const statuses = []
  for (let sent = 0; sent < 2; sent++) {
    statuses.push((await fetch(`http://127.0.0.1:${port}/webhooks`, init)).status)
  }
  expect(statuses).toEqual([202, 200])
  await said(/(approved: ver_1 \(attempt 1\))/)
  return printed.replace(/port: \d+/, 'port')
}

test('the same program runs on SQLite and on Postgres: the line of the store and its import change', async () => {
  expect(existsSync(join(root, 'dist/index.js')), 'run npm run build first').toBe(true)
  const original = readFileSync(join(root, 'examples/inbox.ts'), 'utf8')
  const changed = original
    .replace(
      "import { sqliteStore } from 'idv-webhooks/inbox/sqlite'",
      "import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'; import pg from 'pg'",
    )
    .replace(
      'sqliteStore(file)',
      'postgresStore(fromPg(new pg.Pool({ connectionString: process.env.DATABASE_URL })))',
    )
  const lines = changed.split('\n')
  expect(original.split('\n').filter((line, at) => line !== lines[at])).toHaveLength(2)
  const file = join(root, 'examples', `.inbox-on-postgres-${process.pid}.ts`)
  writeFileSync(file, changed)
  onTestFinished(() => rmSync(file))
  const name = `example_${process.pid}`
  await poolOf().query(`create database ${name}`)
  onTestFinished(async () => {
    await poolOf().query(`drop database ${name} with (force)`)
  })
  const url = new URL(servers.pg18)
  url.pathname = name
  const onSqlite = await outputOf(join(root, 'examples/inbox.ts'), {})
  expect(await outputOf(file, { DATABASE_URL: url.href })).toBe(onSqlite)
})

test('demo:scale kills a process of each kind, and loses and doubles nothing', async () => {
  const env = { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', DELIVERIES: '160' }
  const script = join(root, 'scripts/demo-scale.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env })
  for (const what of ['a receiver', 'a worker', 'the proxy', 'crash Postgres']) {
    expect(stdout).toContain(what)
  }
  expect(stdout).toMatch(/: 0 lost, 0 twice\n$/)
}, 120_000)
