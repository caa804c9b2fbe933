import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { createSandbox } from '../../tools/sandbox/sandbox.ts'
import { clientOf, serve } from '../client/service.ts'
import { temporaryFolder } from '../inbox/temporary.ts'
import { sized } from '../tier.ts'
import { cli, run as runHere, runProcess } from './built/run.ts'

/** A sandbox on a port with some verifications, and the command run against it. */
async function open({ inbox = false } = {}) {
  const sandbox = await createSandbox({ seed: 7, rateLimit: false })
  onTestFinished(() => sandbox.close())
  await sandbox.listen()
  const api = clientOf(sandbox, { limiter: false })
  const { id } = await api.verifications.create({ type: 'kyc', requirements: ['consent'] })
  await sandbox.act(id, ['start', 'submit', 'approve'])
  await api.clients.create()
  const folder = temporaryFolder()
  if (inbox) {
    const empty = createInbox({ store: sqliteStore(join(folder, 'inbox.db')) })
    await empty.open()
    await empty.close()
  }
  const command = ['reconcile', '--base-url', sandbox.baseUrl, '--inbox', 'inbox.db']
  const running =
    (how: typeof runHere) =>
    (args: readonly string[], env: Record<string, string> = {}) =>
      how([...command, ...args], { cwd: folder, env: { IDV_API_KEY: sandbox.apiKey, ...env } })
  return { sandbox, api, folder, run: running(runHere), runProcess: running(runProcess) }
}

const since = ['--since', '2020-01-01T00:00:00Z']
const report = (stdout: string) => {
  const lines = stdout.trim().split('\n')
  return lines.map((line) => JSON.parse(line)).find(({ type }) => type === 'report')
}

test('feeds a named tenant, and names the missing options', async () => {
  const { run, folder } = await open({ inbox: true })
  expect((await run([...since, '--tenant', 'acme'])).code).toBe(0)
  const unsaid = await run([...since])
  expect([unsaid.code, unsaid.stderr]).toEqual([
    2,
    expect.stringContaining('have tenants: pass the tenant'),
  ])
  expect((await run([...since, '--tenant='])).stderr).toContain('It is empty')
  expect((await run([...since, '--tenant', 'amce'])).stderr).toContain(
    'no entry of the tenant amce: check the name, or pass --new-tenant',
  )
  const isNew = ['--tenant', 'globex', '--new-tenant', '--dry-run', '--json']
  expect(report((await run([...since, ...isNew])).stdout).events.missing).toBe(4)
  expect(report((await run([...since, '--no-tenant', '--json'])).stdout).events.fed).toBe(4)
  const inbox = createInbox({ store: sqliteStore(join(folder, 'inbox.db')) })
  const { entries } = await inbox.find()
  await inbox.close()
  expect(entries.filter(({ tenant }) => tenant === 'acme')).toHaveLength(4)
  expect(entries.filter(({ tenant }) => tenant === undefined)).toHaveLength(4)
})

test('lists the missing events, feeds them, and finds nothing the next time', async () => {
  const { run, folder } = await open({ inbox: true })
  const dry = await run([...since, '--dry-run'])
  expect(dry).toMatchObject({ code: 1 })
  expect(dry.stdout).toContain(
    'missing  4, 1 verification.created, 1 verification.submitted, 1 verification.approved, 1 client.created',
  )
  expect(dry.stderr).toContain('client.updated')
  const fed = await run([...since, '--json'])
  expect(fed.code).toBe(0)
  expect(report(fed.stdout)).toMatchObject({ complete: true, events: { missing: 4, fed: 4 } })
  const again = await run([...since, '--json'])
  expect(report(again.stdout)).toMatchObject({ events: { missing: 0, present: 4 } })
  const inbox = createInbox({ store: sqliteStore(join(folder, 'inbox.db')) })
  onTestFinished(() => inbox.close())
  const { entries } = await inbox.find()
  expect(entries.map(({ source, state }) => `${source} ${state}`)).toEqual(
    Array.from({ length: 4 }, () => 'reconcile stored'),
  )
})

test('creates no inbox', async () => {
  const { run, folder } = await open()
  const file = join(folder, 'inbox.db')
  for (const args of [[], ['--dry-run']]) {
    const refused = await run([...since, ...args])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(/inbox \S*inbox\.db does not exist: check the path/)
    expect(existsSync(file)).toBe(false)
  }
})

test('ids of the service cannot steer the terminal', async () => {
  const { run } = await open({ inbox: true })
  const id = 'ver_\u001b[31m\u0007\nsecond line'
  const page = { page: 1, limit: 100, total: 1, totalPages: 1, hasNext: false, hasPrev: false }
  const { baseUrl } = await serve((_, response) => {
    response.end(JSON.stringify({ data: [{ id, createdAt: 'never' }], pagination: page }))
  })
  const { stderr, stdout } = await run([...since, '--base-url', baseUrl])
  expect(stderr).toContain(
    'unread   verification ver_\\u001b[31m\\u0007\\u000asecond line: its times',
  )
  expect(stdout + stderr).not.toContain('\u001b')
})

test('prints what it has added when it stops in the middle', async () => {
  const { sandbox, run } = await open({ inbox: true })
  const { baseUrl } = await serve(async ({ url = '', headers }, response) => {
    const { 'x-api-key': key = '' } = headers
    const init = { headers: { 'x-api-key': String(key) } }
    const found = await sandbox.fetch(new Request(new URL(url, sandbox.url), init))
    response.writeHead(url.includes('/clients') ? 403 : found.status).end(await found.text())
  })
  const stopped = await run([...since, '--base-url', baseUrl, '--json'])
  expect(stopped).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('stopped after 3 events had been added'),
  })
  expect(stopped.stdout).toContain('{"type":"stopped","added":3}')
})

test('goes on from its watermark file', async () => {
  const { run, folder, api } = await open({ inbox: true })
  const args = ['--watermark', 'mark.json', '--json']
  expect(await run(args)).toMatchObject({ code: 2 })
  expect((await run([...since, ...args])).code).toBe(0)
  const file = join(folder, 'mark.json')
  expect(Object.keys(JSON.parse(readFileSync(file, 'utf8')))).toEqual([
    'verifications',
    'clients',
    'deletions',
  ])
  await api.clients.create()
  const next = await run(args)
  expect(report(next.stdout)).toMatchObject({ events: { missing: 1, fed: 1 } })
  await api.clients.create()
  const before = readFileSync(file, 'utf8')
  expect((await run([...args, '--dry-run'])).code).toBe(1)
  expect(readFileSync(file, 'utf8')).toBe(before)
})

test('ends the same however often it is killed', { timeout: 60_000 }, async () => {
  const { run, sandbox, api, folder } = await open({ inbox: true })
  const many = sized(120, 400)
  for (let at = 0; at < many; at++) {
    const { id } = await api.verifications.create({ type: 'idv', requirements: ['consent'] })
    if (at % 2 === 0) await sandbox.act(id, ['start', 'submit', 'reject'])
  }
  const args = [cli, 'reconcile', '--base-url', sandbox.baseUrl, '--inbox', 'inbox.db', ...since]
  const kept: number[] = []
  for (const wait of [1, 40, 90]) {
    const child = spawn(process.execPath, [...args, '--json'], {
      cwd: folder,
      env: { ...process.env, IDV_API_KEY: sandbox.apiKey },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    // From the start: a run may complete before it is killed.
    const exited = once(child, 'exit')
    await once(child.stdout, 'data')
    await new Promise((resolve) => setTimeout(resolve, wait))
    child.kill('SIGKILL')
    await exited
    const dry = await run([...since, '--dry-run', '--json'])
    kept.push(report(dry.stdout).events.present)
  }
  expect(kept).toEqual([...kept].sort((one, other) => one - other))
  expect(kept[0]).toBeGreaterThan(0)
  expect(await run([...since, '--json'])).toMatchObject({ code: 0 })
  const inbox = createInbox({ store: sqliteStore(join(folder, 'inbox.db')) })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({ secret: 'unused', inbox })
  const handled: string[] = []
  receiver.on('*', ({ name, entity }) => handled.push(`${name} ${entity?.id}`))
  await createWorker(receiver).runOnce()
  expect(handled).toHaveLength(4 + many + 2 * (many / 2))
  expect(new Set(handled).size).toBe(handled.length)
})

test('writes into no inbox that another process has open, and a dry run reads it', async () => {
  const { runProcess: run, folder } = await open()
  const inbox = createInbox({ store: sqliteStore(join(folder, 'inbox.db')) })
  onTestFinished(() => inbox.close())
  await inbox.open()
  const refused = await run(since)
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('another process has the inbox')
  const dry = await run([...since, '--dry-run', '--json'])
  expect(dry.code).toBe(1)
  expect(report(dry.stdout)).toMatchObject({ dryRun: true, events: { present: 0, fed: 0 } })
})

test('takes times as the other commands do, and none that can be misread', async () => {
  const { run } = await open({ inbox: true })
  const recent = await run(['--since', '1h', '--json'])
  expect(report(recent.stdout)).toMatchObject({ complete: true, events: { fed: 4 } })
  const early = await run(['--since', '7d', '--until', '12h', '--json'])
  expect(report(early.stdout)).toMatchObject({ events: { derived: 0 } })
  for (const wrong of ['3', '20260301', '2026-03-01T10:00', '2026-03-01 10:00', '2026-13-01']) {
    const refused = await run(['--since', wrong])
    expect([wrong, refused.code]).toEqual([wrong, 2])
    expect(refused.stderr).toContain('7d')
  }
  const ahead = await run(['--since', '2100-01-01'])
  expect(ahead).toMatchObject({ code: 2 })
  expect(ahead.stderr).toContain('since must not be in the future')
  const crossed = await run(['--since', '1d', '--until', '2d'])
  expect(crossed).toMatchObject({ code: 2 })
  expect(crossed.stderr).toContain('since must not be later than until')
})

test('names the missing settings, and never shows the key', async () => {
  const { run, folder } = await open({ inbox: true })
  expect(await run(since, { IDV_API_KEY: '' })).toMatchObject({ code: 2 })
  const wrong = await run(since, { IDV_API_KEY: 'key_not_known' })
  expect(wrong).toMatchObject({ code: 1 })
  expect(wrong.stderr).toContain('UNAUTHORIZED')
  expect(wrong.stderr + wrong.stdout).not.toContain('key_not_known')
  expect((await run(['--since', 'yesterday'])).code).toBe(2)
  expect(existsSync(join(folder, 'mark.json'))).toBe(false)
})
