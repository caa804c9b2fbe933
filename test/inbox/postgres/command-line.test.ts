// The command line on an inbox in Postgres: as users run it, against the built package.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresSchema, postgresStore } from 'idv-webhooks/inbox/postgres'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { newEntry } from '../../../tools/conformance/store-cases.ts'
import { poolOf, servers } from './servers.ts'

const cli = resolve('dist/cli.js')
const password = 'a-password-nobody-may-see'

/** A folder of a user's project with one driver installed, or none. */
function project(...drivers: ('pg' | 'postgres')[]): string {
  expect(existsSync(cli), 'run npm run build first').toBe(true)
  const folder = mkdtempSync(join(tmpdir(), 'idv-project-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of drivers) symlinkSync(resolve('node_modules', name), join(modules, name))
  return folder
}

/** A database of its own, so that its inbox has the usual schema. */
async function database(): Promise<string> {
  const name = `cli_${crypto.randomUUID().replaceAll('-', '')}`
  await poolOf().query(`create database ${name}`)
  const url = new URL(servers.pg18)
  url.pathname = name
  url.password = password
  onTestFinished(async () => {
    await poolOf().query(`drop database ${name} with (force)`)
  })
  return url.href
}

interface Options {
  readonly cwd: string
  readonly env?: Record<string, string>
  /** Kills it once it has printed this. */
  readonly killAt?: string
}

async function run(args: readonly string[], { cwd, env = {}, killAt }: Options) {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, ...env } as unknown as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (part) => {
    stdout += part
    if (killAt !== undefined && stdout.includes(killAt)) child.kill('SIGKILL')
  })
  child.stderr.on('data', (part) => {
    stderr += part
  })
  const code = await new Promise<number | null>((done) => child.once('close', done))
  expect(stdout + stderr).not.toContain(password)
  return { stdout, stderr, code }
}

async function fileWith(entries: number, cwd: string): Promise<void> {
  const store = sqliteStore(join(cwd, 'inbox.db'))
  const inbox = createInbox({ store })
  await inbox.open()
  await Promise.all(Array.from({ length: entries }, () => store.insert(newEntry())))
  await inbox.close()
}

async function statsAt(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const inbox = createInbox({ store: postgresStore(fromPg(pool), { listen: false }) })
  try {
    return await inbox.stats()
  } finally {
    await inbox.close()
    await pool.end()
  }
}

test.each(['pg', 'postgres'] as const)(
  'inbox commands work on postgres:// from the environment, with %s',
  async (driver) => {
    const [cwd, url] = [project(driver), await database()]
    const env = { IDV_INBOX: url }
    await statsAt(url)
    const stats = await run(['inbox', 'stats', '--json'], { cwd, env })
    expect(JSON.parse(stats.stdout)).toMatchObject({ type: 'stats' })
    const named = await run(['inbox', 'list', '--inbox', 'env:DATABASE'], {
      cwd,
      env: { DATABASE: url },
    })
    expect(named.code).toBe(0)
  },
)

test('an address with a password is refused as an argument, and not repeated', async () => {
  const [cwd, url] = [project('pg'), await database()]
  for (const args of [
    ['inbox', 'stats', '--inbox', url],
    ['inbox', 'stats', `--inbox=${url}`],
    ['inbox', 'move', 'inbox.db', url],
    ['inbox', 'stats', '--inbox', `postgres://h/d?user=u&password=${password}`],
  ]) {
    const { code, stderr } = await run(args, { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('env:NAME')
  }
})

test('without a driver the error says what to install', async () => {
  const env = { IDV_INBOX: servers.pg18 }
  const { code, stderr } = await run(['inbox', 'stats'], { cwd: project(), env })
  expect(code).toBe(2)
  expect(stderr).toContain('npm install pg')
})

test('a database without an inbox, or that does not answer, is an error with a way out', async () => {
  const [cwd, url] = [project('pg'), await database()]
  const missing = await run(['inbox', 'stats'], { cwd, env: { IDV_INBOX: url } })
  expect(missing.code).toBe(1)
  expect(missing.stderr).toContain('postgresSchema()')
  const gone = `postgres://u:${password}@127.0.0.1:1/db`
  const refused = await run(['inbox', 'stats'], { cwd, env: { IDV_INBOX: gone } })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('ECONNREFUSED')
  const odd = await run(['inbox', 'stats'], {
    cwd,
    env: { IDV_INBOX: `postgres://u:${password}#@` },
  })
  expect(odd.code).toBe(2)
  expect(odd.stderr).toContain('percent-encoded')
})

test('a command that looks stores no key: its own may not be deployed yet', async () => {
  const [cwd, url] = [project('pg'), await database()]
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  onTestFinished(() => pool.end())
  const [key, newer] = [1, 2].map((fill) => Buffer.alloc(32, fill).toString('base64'))
  if (!key || !newer) throw new Error('there are two keys')
  const settings = async () => (await pool.query('select * from idv_inbox.settings')).rows
  const application = async () => {
    const store = postgresStore(fromPg(pool), { listen: false })
    const inbox = createInbox({ store, encryption: { key } })
    await inbox.open()
    await inbox.close()
  }

  await pool.query(postgresSchema())
  const stats = ['inbox', 'stats', '--json']
  const early = await run(stats, { cwd, env: { IDV_INBOX: url, IDV_INBOX_KEY: newer } })
  expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('start the application') })
  expect(await settings()).toEqual([])
  await application()
  const before = await settings()
  const rotating = { IDV_INBOX: url, IDV_INBOX_KEY: `${newer},${key}` }
  for (const args of [stats, ['inbox', 'list'], ['inbox', 'redrive', '--state', 'dead', '--yes']]) {
    expect(await run(args, { cwd, env: rotating })).toMatchObject({ code: 0 })
  }
  expect(await settings()).toEqual(before)
  await application()
})

test('inbox schema prints the SQL that makes what an application needs', async () => {
  const [cwd, url] = [project(), await database()]
  const { stdout, code } = await run(['inbox', 'schema', '--schema', 'idv_inbox'], { cwd })
  expect(code).toBe(0)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(stdout)
  const store = postgresStore(fromPg(new pg.Pool({ connectionString: url, max: 2 })), {
    migrate: false,
    listen: false,
  })
  await store.open(() => {})
  expect((await store.insert(newEntry())).kind).toBe('stored')
  await store.close()
  await client.end()
})

test('inbox move: a dry run, the move and the way back, with equal counts', async () => {
  const [cwd, url] = [project('pg'), await database()]
  await fileWith(40, cwd)
  const env = { DATABASE_URL: url }
  const move = ['inbox', 'move', 'inbox.db', 'env:DATABASE_URL']
  const planned = await run([...move, '--dry-run'], { cwd, env })
  expect(planned).toMatchObject({ code: 0, stdout: expect.stringMatching(/entries +40\n/) })
  const unasked = await run(move, { cwd, env })
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  const moved = await run([...move, '--yes', '--json'], { cwd, env })
  const lines = moved.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.at(-1)).toMatchObject({
    type: 'moved',
    state: 'moved',
    source: 'inbox.db',
    from: { entries: 40, contents: 40, keys: 40, stored: 40 },
  })
  expect(lines.at(-1).to).toEqual(lines.at(-1).from)
  expect(lines.some(({ type }) => type === 'progress')).toBe(true)
  const old = await run(['inbox', 'stats', '--inbox', 'inbox.db'], { cwd })
  expect(old).toMatchObject({ code: 1, stderr: expect.stringContaining('was moved') })
  const back = ['inbox', 'move', 'env:DATABASE_URL', 'back.db', '--yes']
  expect((await run(back, { cwd, env })).code).toBe(0)
  const stats = await run(['inbox', 'stats', '--inbox', 'back.db', '--json'], { cwd })
  expect(JSON.parse(stats.stdout)).toMatchObject({ stored: 40 })
})

test('inbox move that is killed at its first page goes on when it runs again', async () => {
  const [cwd, url] = [project('pg'), await database()]
  await fileWith(3_000, cwd)
  const env = { DATABASE_URL: url }
  const move = ['inbox', 'move', 'inbox.db', 'env:DATABASE_URL', '--yes', '--json']
  const killed = await run(move, { cwd, env, killAt: '"progress"' })
  expect(killed.code).toBe(null)
  const { stdout, code } = await run(move, { cwd, env })
  expect(code).toBe(0)
  const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}')
  expect(last).toMatchObject({ type: 'moved', state: 'moved', isResumed: true })
  expect((await statsAt(url)).stored).toBe(3_000)
}, 60_000)

test('inbox move refuses while a worker has its target open, and says what to stop', async () => {
  const [cwd, url] = [project('pg'), await database()]
  await fileWith(1, cwd)
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const running = postgresStore(fromPg(pool), { listen: false })
  await running.open(() => {})
  onTestFinished(async () => {
    await running.close()
    await pool.end()
  })
  const env = { DATABASE_URL: url }
  for (const [from, to] of [
    ['inbox.db', 'env:DATABASE_URL'],
    ['env:DATABASE_URL', 'other.db'],
  ]) {
    const refused = await run(['inbox', 'move', from ?? '', to ?? '', '--yes'], { cwd, env })
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('stop its receivers'),
    })
  }
})
