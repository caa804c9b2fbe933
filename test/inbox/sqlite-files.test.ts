// The files of an inbox on full disks, and after one of them was deleted or replaced.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { createInbox } from 'idv-webhooks/inbox'
import { type SqliteDatabase, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newEntry } from '../../tools/conformance/store-cases.ts'
import { event, setUp, until } from './admin.ts'
import { temporaryFile } from './temporary.ts'

test('a disk without room is named at the start, whatever the driver makes of its commit', async () => {
  const disk = { isFull: false }
  // As better-sqlite3: a row that is read outside a transaction hides the failure of its commit.
  class Full extends DatabaseSync {
    #changes: unknown
    override exec(sql: string) {
      const changes = () => super.prepare('select total_changes() as n').all()
      if (sql.startsWith('begin')) this.#changes = changes()
      if (sql !== 'commit' || !disk.isFull || isDeepStrictEqual(changes(), this.#changes))
        return super.exec(sql)
      super.exec('rollback')
      throw new Error('database or disk is full')
    }
    override prepare(sql: string) {
      const statement = super.prepare(sql)
      if (!sql.endsWith('returning value')) return statement
      const get = () => {
        const isAlone = disk.isFull && !this.isTransaction
        if (isAlone) super.exec('begin')
        const row = statement.get()
        if (isAlone) super.exec('rollback')
        return row
      }
      return { get } as unknown as typeof statement
    }
  }
  // Trust is granted here: the driver is Node's own.
  const driver = (path: string) => new Full(path) as unknown as SqliteDatabase
  const file = temporaryFile()
  const { deliver, inbox } = setUp({ store: sqliteStore(file, { driver }) })
  expect((await deliver(event())).kind).toBe('accepted')
  await inbox.close()
  disk.isFull = true
  await expect(inbox.open()).rejects.toThrow(/cannot be opened \(database or disk is full\)/)
  disk.isFull = false
  expect((await deliver(event())).kind).toBe('accepted')
})

test('what a crash left in the log is written anew before anything comes after it', async () => {
  const [first, crashed, alone] = [temporaryFile(), temporaryFile(), temporaryFile()]
  const store = sqliteStore(first)
  await store.open(() => {})
  for (let at = 0; at < 20; at++) await store.insert(newEntry())
  for (const end of ['', '-wal']) copyFileSync(`${first}${end}`, `${crashed}${end}`)
  await store.close()
  const again = sqliteStore(crashed)
  await again.open(() => {})
  // As if the log had been in memory alone, and the power was cut.
  copyFileSync(crashed, alone)
  await again.close()
  const after = sqliteStore(alone)
  await after.open(() => {})
  expect(await after.find({ limit: 100 })).toHaveLength(20)
  await after.close()
})

test.each([{ driver: undefined }, { driver: (path: string) => new DatabaseSync(path) }])(
  'a file that lacks a table is named by the first call that needs it, and let go ($driver)',
  async ({ driver }) => {
    const file = temporaryFile()
    const make = () => setUp({ store: sqliteStore(file, { ...(driver && { driver }) }) }).inbox
    const inbox = make()
    await inbox.open()
    await inbox.close()
    const db = new DatabaseSync(file)
    db.exec('drop table idv_contents')
    db.close()
    for (let at = 0; at < 2; at++) {
      const opened = make()
      await opened.open()
      const message = expect.stringContaining('no such table: idv_contents')
      await expect(opened.find()).rejects.toMatchObject({ code: 'STORE_FAILED', message })
      await opened.close()
    }
  },
)

const operator = (file: string) => {
  const inbox = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
  onTestFinished(() => inbox.close())
  return inbox
}

/** An application in a process of its own: it keeps an entry every few milliseconds. */
async function application(file: string) {
  const root = `${import.meta.dirname}/../..`
  const script = `
    import { sqliteStore } from '${root}/src/inbox/stores/sqlite/sqlite.ts'
    import { newEntry } from '${root}/tools/conformance/store-cases.ts'
    const store = sqliteStore(${JSON.stringify(file)})
    await store.open(() => {})
    let isOver = false
    process.on('SIGTERM', () => { isOver = true })
    console.log('open')
    let kept = 0
    while (!isOver) {
      await store.insert(newEntry()).then(() => { kept++ }, () => {})
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await store.close()
    console.log(kept)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script])
  onTestFinished(() => void child.kill('SIGKILL'))
  const said: string[] = []
  child.stdout.on('data', (chunk) => said.push(String(chunk)))
  child.stderr.on('data', (chunk) => said.push(String(chunk)))
  await until(() => said.join('').startsWith('open'))
  const stop = async () => {
    child.kill('SIGTERM')
    await once(child, 'close')
    return Number(said.join('').split('\n')[1])
  }
  return { stop }
}

function integrityOf(file: string): unknown {
  const db = new DatabaseSync(file)
  onTestFinished(() => db.close())
  return db.prepare('pragma integrity_check').get()
}

describe('beside an application whose files were deleted', () => {
  test.each([
    { ends: ['-shm'] },
    { ends: ['-wal'] },
    { ends: ['-wal', '-shm'] },
    { ends: ['-wal', '-shm', '-owner', '-owner-journal'] },
  ])('nobody opens the inbox, and it stays whole: $ends', async ({ ends }) => {
    const file = temporaryFile()
    const { stop } = await application(file)
    const before = operator(file)
    expect(await before.stats()).toMatchObject({ leased: 0 })
    await before.close()
    for (const end of ends) rmSync(`${file}${end}`)
    const refused = { code: 'STORE_FAILED', message: expect.stringMatching(/Restart the app/) }
    const { inbox: second } = setUp({ store: sqliteStore(file) })
    const opened = [operator(file).forget('a'), operator(file).stats(), second.open()]
    const failed = await Promise.allSettled(opened)
    const isOwned = !ends.includes('-owner')
    const other = isOwned ? { code: 'STORE_OWNED' } : refused
    expect(failed.map(({ status, ...one }) => ({ status, ...one }))).toMatchObject([
      { status: 'rejected', reason: refused },
      { status: 'rejected', reason: refused },
      { status: 'rejected', reason: other },
    ])
    for (const end of ends.slice(0, 2)) expect(existsSync(`${file}${end}`)).toBe(false)
    const kept = await stop()
    expect(kept).toBeGreaterThan(0)
    expect(await operator(file).stats()).toMatchObject({ stored: kept })
    expect(integrityOf(file)).toEqual({ integrity_check: 'ok' })
  })
})

test.each(['', '-wal', '-shm'])(
  'the first statement that fails names %s that was deleted or replaced, and ends the writing',
  async (end) => {
    const disk = { fails: false }
    class Failing extends DatabaseSync {
      override exec(sql: string) {
        if (sql === 'begin immediate' && disk.fails) throw new Error('disk I/O error')
        super.exec(sql)
      }
    }
    const file = temporaryFile()
    // Trust is granted here: the driver is Node's own.
    const driver = (path: string) => new Failing(path) as unknown as SqliteDatabase
    const { deliver, inbox } = setUp({ store: sqliteStore(file, { driver }) })
    expect((await deliver(event())).kind).toBe('accepted')
    rmSync(`${file}${end}`)
    if (end === '') writeFileSync(file, '')
    disk.fails = true
    const why = `inbox.db${end} was deleted or replaced while it was open`
    expect(await deliver(event())).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      error: { message: expect.stringContaining(why) },
    })
    disk.fails = false
    await expect(inbox.stats()).rejects.toThrow(/nothing more is written until a restart/)
  },
)

test('an inbox is not opened under a second name, with a log of its own', async () => {
  const file = temporaryFile()
  const { deliver } = setUp({ store: sqliteStore(file) })
  await deliver(event())
  linkSync(file, `${file}-link`)
  const { inbox } = setUp({ store: sqliteStore(`${file}-link`) })
  await expect(inbox.open()).rejects.toThrow(/open under another name/)
  expect((await deliver(event())).kind).toBe('accepted')
  expect(integrityOf(file)).toEqual({ integrity_check: 'ok' })
})

test('commands and the application may open and close the inbox at the same time', async () => {
  const file = temporaryFile()
  const { deliver, inbox } = setUp({ store: sqliteStore(file) })
  await deliver(event())
  for (let turn = 0; turn < 5; turn++) {
    const commands = Array.from({ length: 3 }, async () => {
      const beside = operator(file)
      await beside.stats()
      await beside.close()
    })
    await Promise.all([...commands, inbox.close()])
    expect((await deliver(event())).kind).toBe('accepted')
  }
  expect(await inbox.stats()).toMatchObject({ stored: 6 })
})
