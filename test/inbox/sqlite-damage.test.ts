// A damaged file is refused as it was found: what lies in its log may be all that can be saved.
import { execFileSync } from 'node:child_process'
import { openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type SqliteDatabase, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, test } from 'vitest'
import { event, setUp } from './admin.ts'
import { temporaryFile, temporaryFolder } from './temporary.ts'

/** The files as a kill leaves them, with some entries in the log. */
async function killed(): Promise<string> {
  const file = temporaryFile()
  const copy = join(temporaryFolder(), 'copy.db')
  const { deliver, inbox } = setUp({ store: sqliteStore(file) })
  for (let at = 0; at < 60; at++) await deliver(event('client.created', { id: 'cli_1' }))
  await inbox.close()
  await inbox.open()
  // A reader keeps the log from being emptied.
  const reader = new DatabaseSync(file)
  reader.exec('begin')
  reader.prepare('select count(*) from idv_entries').get()
  for (let at = 0; at < 3; at++) await deliver(event())
  // In another process: to close them here would end the locks of this one.
  for (const end of ['', '-wal', '-shm']) execFileSync('cp', [file + end, copy + end])
  reader.close()
  await inbox.close()
  expect(statSync(`${copy}-wal`).size).toBeGreaterThan(10_000)
  return copy
}

const pageSize = 4096

/** Writes over every page but the first; the log has some of them as they were. */
function damage(file: string, from = 2048): void {
  const handle = openSync(file, 'r+')
  const { size } = statSync(file)
  for (let at = from; at < size; at += 2048) writeSync(handle, Buffer.alloc(64, 7), 0, 64, at)
}

const bytes = (file: string) => ['', '-wal'].map((end) => readFileSync(file + end, 'base64'))

async function open(file: string, options = {}) {
  const store = sqliteStore(file, options)
  await store.open(() => {})
  return store
}

/** A module like better-sqlite3, which opens by `readonly` and says whether it did. */
function classDriver(knowsOption = true): string {
  const path = join(temporaryFolder(), 'driver.cjs')
  writeFileSync(
    path,
    `const { DatabaseSync } = require('node:sqlite')
    module.exports = class extends DatabaseSync {
      constructor(file, { readonly = false } = {}) {
        super(file, { readOnly: ${knowsOption} && readonly })
        this.readonly = ${knowsOption} && readonly
      }
    }`,
  )
  return path
}

test.each([
  ['whole', { check: 'integrity' }],
  ['quickly', { check: 'quick' }],
  ['by a class', { driver: () => classDriver() }],
  ['without its index', { isBare: true }],
] as const)('a damaged file that is checked %s stays as it is, with its log', async (_how, how) => {
  const file = await killed()
  damage(file)
  if ('isBare' in how) rmSync(`${file}-shm`)
  const before = bytes(file)
  const options = 'driver' in how ? { driver: how.driver() } : 'check' in how ? how : {}
  const message = expect.stringMatching(/is damaged and nothing was changed: keep a copy/)
  for (let at = 0; at < 2; at++) {
    await expect(open(file, options)).rejects.toMatchObject({ code: 'STORE_DAMAGED', message })
    expect(bytes(file)).toEqual(before)
  }
})

test.each([
  ['a function', () => (path: string) => new DatabaseSync(path) as unknown as SqliteDatabase],
  ['a module that knows no such option', () => classDriver(false)],
])(
  'no promise is made where the driver cannot open a file to read alone (%s)',
  async (_how, of) => {
    const file = await killed()
    damage(file)
    const opened = open(file, { driver: of() })
    await expect(opened).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    await expect(opened).rejects.not.toThrow(/nothing was changed/)
  },
)

test('an operator whose search meets damage is told how to recover, and not of a failed write', async () => {
  const file = await killed()
  await (await open(file)).close()
  const store = await open(file, { mode: 'operator' })
  damage(file)
  const query = { limit: 100, now: Date.now() }
  const message = expect.stringMatching(
    /^the inbox .* is damaged: keep a copy with its -wal file, then restore your backup/,
  )
  await expect(store.find(query)).rejects.toMatchObject({ code: 'STORE_DAMAGED', message })
  await store.close()
})

test('an operator who asks for the check is refused, and the log stays', async () => {
  await (await open(await killed(), { mode: 'operator', check: 'integrity' })).close()
  const file = await killed()
  damage(file, statSync(file).size - pageSize)
  const before = bytes(file)
  for (const check of ['integrity', 'quick'] as const) {
    await expect(open(file, { mode: 'operator', check })).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: expect.stringContaining('nothing was changed'),
    })
  }
  expect(bytes(file)).toEqual(before)
})

test('an operator who erases leaves nothing of it in the log', async () => {
  const file = await killed()
  const { inbox } = setUp({ store: sqliteStore(file, { mode: 'operator' }) })
  expect(await inbox.forget('client:cli_1')).toBe(60)
  await inbox.close()
  expect(statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
})

test('an intact file is opened after a kill, with and without its index', async () => {
  for (const ends of [[], ['-shm']]) {
    const file = await killed()
    for (const end of ends) rmSync(file + end)
    const store = await open(file)
    expect((await store.stats(Date.now())).counts.stored).toBe(63)
    await store.close()
  }
  const empty = temporaryFile()
  writeFileSync(empty, '')
  await (await open(empty)).close()
})
