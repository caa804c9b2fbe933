// A damaged file is refused as it was found: what lies in its log may be all that can be saved.
import { execFileSync, spawnSync } from 'node:child_process'
import { openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Inbox } from 'idv-webhooks/inbox'
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
  // Who reads keeps the log from being emptied.
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
function classDriver(): string {
  const path = join(temporaryFolder(), 'driver.cjs')
  writeFileSync(
    path,
    `const { DatabaseSync } = require('node:sqlite')
    module.exports = class extends DatabaseSync {
      constructor(file, { readonly = false } = {}) {
        super(file, { readOnly: readonly })
        this.readonly = readonly
      }
    }`,
  )
  return path
}

test.each([
  ['whole', { check: 'integrity' }],
  ['quickly', { check: 'quick' }],
  ['by a class', { driver: classDriver }],
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
  ['a module that knows no such option', () => createRequire(import.meta.url).resolve('libsql')],
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

test.each(['-shm', ''])(
  'an operator who only looks moves no log into the file (%s)',
  async (end) => {
    const file = await killed()
    if (end !== '') rmSync(file + end)
    const before = bytes(file)
    const store = await open(file, { mode: 'operator' })
    expect((await store.stats(Date.now())).counts.stored).toBe(63)
    await store.close()
    expect(bytes(file)).toEqual(before)
  },
)

test('an operator who meets damage as he looks hears how to recover, and it is no failed write', async () => {
  const file = await killed()
  const store = await open(file, { mode: 'operator' })
  damage(file)
  // The log has pages of its own, and an index may do without the rest.
  rmSync(`${file}-wal`)
  const query = { limit: 100, now: Date.now() }
  const message = expect.stringMatching(
    /^the inbox .* is damaged: keep a copy with its -wal file, then restore your backup/,
  )
  await expect(store.find(query)).rejects.toMatchObject({ code: 'STORE_DAMAGED', message })
  await store.close()
})

test('nor does an operator who looks at an inbox and stays for a while', async () => {
  const file = await killed()
  const before = bytes(file)
  const { inbox } = setUp({ store: sqliteStore(file, { mode: 'operator' }) })
  expect((await inbox.stats()).stored).toBe(63)
  // A log is emptied once a quarter of a second passes without work.
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect(bytes(file)).toEqual(before)
  expect((await inbox.find({ limit: 1 })).entries).toHaveLength(1)
  await inbox.close()
  expect(bytes(file)).toEqual(before)
})

const source = (file: string) => JSON.stringify(join(import.meta.dirname, '../../src/inbox', file))

test.each([
  ['looks', 'stats', ''],
  ['looks and exits', 'stats', 'process.exit(0)'],
  ['looks and throws', 'stats', 'throw new Error("a bug")'],
  ['is refused', 'purge', ''],
  ['is refused and exits', 'purge', 'process.exit(0)'],
])('nor does one who %s without closing it', async (_how, act, end) => {
  const file = await killed()
  damage(file, statSync(file).size - pageSize)
  const before = bytes(file)
  const script = `
    import { createInbox } from ${source('index.ts')}
    import { sqliteStore } from ${source('stores/sqlite/sqlite.ts')}
    const inbox = createInbox({ store: sqliteStore(${JSON.stringify(file)}, { mode: 'operator' }) })
    await inbox.${act}().then(() => console.log('done'), ({ code }) => console.log(code))
    ${end}`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  })
  expect(stdout).toBe(act === 'purge' ? 'STORE_DAMAGED\n' : 'done\n')
  expect(bytes(file)).toEqual(before)
})

test.each([
  ['purges', (inbox: Inbox) => inbox.purge()],
  ['forgets', (inbox: Inbox) => inbox.forget('client:cli_1')],
])(
  'an operator who %s a damaged file is refused before, and moves no log into it',
  async (_, act) => {
    const file = await killed()
    // One page that neither reads.
    damage(file, statSync(file).size - pageSize)
    const before = bytes(file)
    const { inbox } = setUp({ store: sqliteStore(file, { mode: 'operator' }) })
    await expect(act(inbox)).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    await inbox.close()
    expect(bytes(file)).toEqual(before)
  },
)

/** A file whose log adds a row that one index does not have, as another file's log may. */
async function disagreeing(): Promise<string> {
  const file = await killed()
  const copy = join(temporaryFolder(), 'copy.db')
  // Its types come later than the method.
  const db = new DatabaseSync(file) as DatabaseSync & { enableDefensive(isOn: boolean): void }
  db.enableDefensive(false)
  const index = "type = 'index' and name = 'idv_lanes_tenant'"
  db.exec(`pragma writable_schema = on;
    create temp table kept as select * from sqlite_schema where ${index};
    delete from sqlite_schema where ${index}`)
  db.exec('pragma writable_schema = reset')
  db.exec("update idv_lanes set tenant = 'acme'")
  db.exec('pragma writable_schema = on; insert into sqlite_schema select * from temp.kept')
  for (const end of ['', '-wal', '-shm']) execFileSync('cp', [file + end, copy + end])
  db.close()
  return copy
}

test.each([
  ['purges', (inbox: Inbox) => inbox.purge()],
  ['forgets', (inbox: Inbox) => inbox.forget('client:cli_1')],
])('an operator who %s is refused where only an index shows the damage', async (_, act) => {
  const file = await disagreeing()
  const before = bytes(file)
  const quick = new DatabaseSync(file, { readOnly: true })
  expect(quick.prepare('pragma quick_check').get()).toEqual({ quick_check: 'ok' })
  quick.close()
  const { inbox } = setUp({ store: sqliteStore(file, { mode: 'operator' }) })
  await expect(act(inbox)).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  await inbox.close()
  expect(bytes(file)).toEqual(before)
})

test('an operator who asks for the check is refused, and the log stays', async () => {
  const file = await killed()
  await (await open(file, { mode: 'operator', check: 'integrity' })).close()
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
