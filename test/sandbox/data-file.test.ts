import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { createSandbox } from '../../tools/sandbox/create-sandbox.ts'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { minimal } from './conformance-rows.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'idv-data-'))
  closing.push(() => rmSync(path, { recursive: true }))
  return path
}

const file = () => join(folder(), 'sandbox.db')
const quiet: SandboxOptions = { fetch: async () => new Response() }

async function fresh(options: SandboxOptions) {
  const sandbox = await openSandbox({ ...quiet, ...options })
  closing.push(() => sandbox.close())
  return { sandbox, call: caller(sandbox.url, sandbox.fetch) }
}

/** Does something to a file as another program would. */
function tamper(path: string, sql: string) {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

/** What a kill leaves: the files as they are, without the end that a sandbox makes. */
function killed(path: string): string {
  const copy = join(folder(), 'copy.db')
  for (const end of ['', '-wal']) writeFileSync(copy + end, readFileSync(path + end))
  return copy
}

const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

describe('a database of something else', () => {
  test.each([
    [
      'with rows of the same form',
      "CREATE TABLE records(kind, id, json); INSERT INTO records VALUES('x','y','{}')",
    ],
    ['with a table of the same name', 'CREATE TABLE records(a); INSERT INTO records VALUES(1)'],
    ['with users', 'CREATE TABLE users(a); INSERT INTO users VALUES(1)'],
    ['in write-ahead mode', 'PRAGMA journal_mode = WAL; CREATE TABLE users(a)'],
    ['with nothing but a number of its own', 'PRAGMA user_version = 1'],
  ])('%s is refused, and not a byte of it changed', async (_what, sql) => {
    const data = file()
    tamper(data, sql)
    const before = digest(data)
    await expect(openSandbox({ data })).rejects.toMatchObject({
      code: 'DATA_FILE_FAILED',
      message: expect.stringContaining('another application'),
    })
    expect(digest(data)).toBe(before)
    expect(readdirSync(join(data, '..'))).toEqual(['sandbox.db'])
    // Nothing of ours holds it.
    tamper(data, 'PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE more(a)')
  })

  test('an inbox file in use is rejected', async () => {
    const data = file()
    const store = sqliteStore(data)
    await store.open(() => {})
    closing.push(() => store.close())
    await expect(openSandbox({ data })).rejects.toMatchObject({ code: 'DATA_FILE_FAILED' })
  })

  test('an empty file becomes a sandbox’s', async () => {
    const data = file()
    writeFileSync(data, '')
    const { sandbox } = await fresh({ data })
    await sandbox.close()
    expect((await fresh({ data })).sandbox.seed).toBe(7)
  })
})

describe('a damaged file', () => {
  test.each([
    ['a row that is no record', "UPDATE records SET json = '[]' WHERE kind = 'client'", /client\//],
    ['a row that is no JSON', "UPDATE records SET json = '{' WHERE kind = 'client'", /client\//],
    [
      'a row of another id',
      "UPDATE records SET id = 'x' WHERE id = (SELECT max(id) FROM records WHERE kind = 'client')",
      /client\/x.*holds the id/,
    ],
    ['no row of its state', "DELETE FROM records WHERE kind = 'state'", /state\/parts.*missing/],
    [
      'a start at no time',
      "UPDATE records SET json = json_set(json, '$.startOptions.now', 'x') WHERE kind = 'state'",
      /state\/parts/,
    ],
    ['no organizations', "DELETE FROM records WHERE kind = 'organizations'", /organizations\/all/],
    ['a kind that is none', "INSERT INTO records VALUES('other', '1', '{}')", /other\/1/],
  ])('with %s is refused by the row’s name, and keeps every other', async (_what, sql, message) => {
    const data = file()
    const { sandbox, call } = await fresh({ data })
    for (let at = 0; at < 3; at++) await call('POST', '/v2/api/clients', { body: {} })
    await sandbox.close()
    tamper(data, sql)
    const many = () => {
      const db = new DatabaseSync(data)
      const count = db.prepare('SELECT count(*) AS many FROM records').get()?.many
      db.close()
      return count
    }
    const before = many()
    const opened = createSandbox({ data })
    await expect(opened).rejects.toMatchObject({ code: 'DATA_FILE_FAILED' })
    await expect(opened).rejects.toThrow(message)
    await expect(opened).rejects.toThrow(data)
    expect(many()).toBe(before)
  })
})

test.each(['a row that is no JSON', 'pages that are none'])(
  'a damaged file (%s) stays as it is, with its log',
  async (what) => {
    const data = file()
    const { sandbox, call } = await fresh({ data })
    for (let at = 0; at < 20; at++) await call('POST', '/v2/api/clients', { body: {} })
    await sandbox.close()
    const db = new DatabaseSync(data)
    const isPages = what === 'pages that are none'
    db.exec(
      `UPDATE records SET json = ${isPages ? "json || ' '" : "'{'"} WHERE kind = 'organizations'`,
    )
    const copy = killed(data)
    db.close()
    if (isPages) writeFileSync(copy, readFileSync(copy).fill(7, 4096))
    expect(statSync(`${copy}-wal`).size).toBeGreaterThan(0)
    const before = [digest(copy), digest(`${copy}-wal`)]
    await expect(createSandbox({ data: copy })).rejects.toMatchObject({ code: 'DATA_FILE_FAILED' })
    expect([digest(copy), digest(`${copy}-wal`)]).toEqual(before)
  },
)

describe('after a kill the file still has', () => {
  test('a killed sandbox keeps its faults, and how often each has struck', async () => {
    const data = file()
    const { call } = await fresh({ data })
    const faults = [{ kind: 'error-500', times: 2 }, { kind: 'duplicate' }]
    expect((await call('PUT', '/_sandbox/faults', { body: { faults } })).status).toBe(200)
    const one = await fresh({ data: killed(data) })
    expect(one.sandbox.faults.list()).toMatchObject(faults)
    expect((await call('GET', '/v2/api/clients')).status).toBe(500)
    const two = await fresh({ data: killed(data) })
    expect(two.sandbox.faults.list()).toMatchObject([{ struck: 1 }, { struck: 0 }])
    expect((await two.call('GET', '/v2/api/clients')).status).toBe(500)
    expect((await two.call('GET', '/v2/api/clients')).status).toBe(200)
    await call('DELETE', '/_sandbox/faults')
    expect((await fresh({ data: killed(data) })).sandbox.faults.list()).toEqual([])
  })

  test('a killed sandbox keeps its counted requests, rejected ones too', async () => {
    const data = file()
    const { call } = await fresh({ data, rateLimit: 2 })
    expect((await call('GET', '/v2/api/clients')).status).toBe(200)
    expect((await call('GET', '/v2/api/clients/nobody')).status).toBe(404)
    const { call: again } = await fresh({ data: killed(data), rateLimit: 2 })
    expect((await again('GET', '/v2/api/clients')).status).toBe(429)
  })
})

test('a data file, its log and its index are readable by their owner only', async () => {
  const before = process.umask(0)
  closing.push(() => process.umask(before))
  const data = file()
  const existing = file()
  writeFileSync(existing, '', { mode: 0o644 })
  for (const path of [data, existing]) {
    const { call } = await fresh({ data: path })
    await call('POST', '/v2/api/clients', { body: {} })
    for (const end of ['', '-wal']) {
      expect((statSync(`${path}${end}`).mode & 0o777).toString(8), end).toBe('600')
    }
  }
})

describe('opened again', () => {
  const url = 'http://127.0.0.1:9/hooks'

  test('a file that is opened again keeps its options, and refuses others by name', async () => {
    const data = file()
    const first = { data, secret: 'the-first-secret', subscriptions: [{ url }] }
    const { sandbox } = await fresh(first)
    const { id } = sandbox.deliveries.subscriptions.list()[0] ?? { id: '' }
    sandbox.deliveries.subscriptions.update(id, { events: ['client.*'], secret: 'changed-later' })
    await sandbox.close()
    for (const [options, message] of [
      [{ secret: 'the-second-secret' }, /started with another secret: leave secret out and change/],
      [{ subscriptions: [] }, /started with another subscriptions/],
      [{ subscriptions: [{ url, events: ['client.*'] }] }, /started with another subscriptions/],
    ] as const) {
      const opening = createSandbox({ data, ...options })
      await expect(opening).rejects.toMatchObject({ code: 'OPTION_INVALID' })
      await expect(opening).rejects.toThrow(message)
      await expect(opening).rejects.not.toThrow(/the-(first|second)-secret/)
    }
    for (const options of [first, { data }]) {
      const again = await createSandbox(options)
      closing.push(() => again.close())
      expect(again.secret).toBe('the-first-secret')
      expect(again.deliveries.subscriptions.list()).toMatchObject([
        { id, events: ['client.*'], secret: 'changed-later' },
      ])
      await again.close()
    }
  })

  test('a data file rejects another start time, and goes on with the same or none', async () => {
    const data = file()
    const { sandbox } = await fresh({ data, now: '2026-01-01T00:00:00Z' })
    await sandbox.clock.advance({ days: 1 })
    await sandbox.close()
    const later = createSandbox({ data, now: '2027-01-01T00:00:00Z' })
    await expect(later).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    await expect(later).rejects.toThrow(
      /started with another now \(2026-01-01.*leave now out and set the clock/,
    )
    for (const now of ['2026-01-01T01:00:00+01:00', undefined]) {
      const again = await createSandbox({ data, ...(now && { now }) })
      expect(again.clock.now().toISOString()).toBe('2026-01-02T00:00:00.000Z')
      await again.close()
    }
  })

  test('a data file accepts its seed as text as well as a number', async () => {
    const data = file()
    await (await createSandbox({ data, seed: 1 })).close()
    const again = await createSandbox({ data, seed: '1' })
    closing.push(() => again.close())
    expect(again.seed).toBe(1)
  })

  test('a reset goes back to the subscriptions of the first start', async () => {
    const data = file()
    const first = await fresh({ data, subscriptions: [{ url }] })
    first.sandbox.deliveries.subscriptions.create({ url: 'http://127.0.0.1:9/other' })
    await first.sandbox.close()
    const { sandbox } = await fresh({ data })
    expect(sandbox.deliveries.subscriptions.list()).toHaveLength(2)
    sandbox.reset()
    expect(sandbox.deliveries.subscriptions.list()).toMatchObject([{ url }])
  })

  test('a sandbox can be closed twice', async () => {
    const { sandbox, call } = await fresh({ data: file() })
    await call('POST', '/v2/api/verifications', { body: minimal as Json })
    await Promise.all([sandbox.close(), sandbox.close()])
    await sandbox.close()
  })
})
