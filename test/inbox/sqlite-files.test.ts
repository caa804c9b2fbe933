// The files of an inbox on disks that are full, and where somebody has deleted one of them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  linkSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { createInbox } from 'idv-webhooks/inbox'
import { type SqliteDatabase, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import Libsql from 'libsql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { OwnLocks } from '../../src/inbox/stores/sqlite/own-locks.ts'
import { hasSecondLibrary } from '../../src/inbox/stores/sqlite/second-library.ts'
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

const operator = (file: string) => {
  const inbox = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
  onTestFinished(() => inbox.close())
  return inbox
}

/** An application in a process of its own: it keeps an entry every few milliseconds. */
async function application(file: string) {
  const source = `${import.meta.dirname}/../../src/inbox`
  const script = `
    import { sqliteStore } from '${source}/stores/sqlite/sqlite.ts'
    import { newEntry } from '${source}/../testing/store-cases.ts'
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

  test('it answers 503 once the index of its log was deleted, and loses nothing', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await deliver(event())
    // The watch has to see it before.
    await new Promise((resolve) => setTimeout(resolve, 50))
    rmSync(`${file}-shm`)
    let kept = 1
    await until(async () => {
      const { kind } = await deliver(event())
      if (kind === 'accepted') kept += 1
      return kind === 'failed'
    })
    await expect(inbox.stats()).rejects.toThrow(/-shm was deleted .* in good order/)
    await inbox.close()
    const { inbox: again } = setUp({ store: sqliteStore(file) })
    expect(await again.stats()).toMatchObject({ stored: kept })
  })
})

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

// Elsewhere nothing shows what a process has mapped.
describe.runIf(process.platform === 'linux')('beside another SQLite library of the process', () => {
  const told = /another SQLite library of this process has the file .* option driver/

  test('deliveries are 503 while it has the file open, and nothing is lost', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await deliver(event())
    const other = new Libsql(file)
    other.prepare('select count(*) from idv_entries').get()
    let kept = 1
    await until(async () => {
      const { kind } = await deliver(event())
      if (kind === 'accepted') kept += 1
      return kind === 'failed'
    })
    await expect(inbox.stats()).rejects.toThrow(told)
    await inbox.close()
    other.close()
    const own = new DatabaseSync(file)
    onTestFinished(() => own.close())
    expect(own.prepare('select count(*) as kept from idv_entries').get()).toEqual({ kept })
    expect(integrityOf(file)).toEqual({ integrity_check: 'ok' })
  })

  test('an inbox that opens after it says so', async () => {
    const file = temporaryFile()
    const { deliver: first, inbox: before } = setUp({ store: sqliteStore(file) })
    await first(event())
    await before.close()
    const other = new Libsql(file)
    onTestFinished(() => void other.close())
    other.prepare('select count(*) from idv_entries').get()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    expect(await deliver(event())).toMatchObject({ kind: 'failed', code: 'STORE_UNAVAILABLE' })
    // Lists are read beside the writer, which the next look ends too.
    await until(() =>
      inbox.stats().then(
        () => false,
        ({ message }) => told.test(message),
      ),
    )
  })

  test('an operator with another driver than the owner in this process is refused', async () => {
    const file = temporaryFile()
    const { deliver } = setUp({ store: sqliteStore(file) })
    await deliver(event())
    const beside = sqliteStore(file, { mode: 'operator', driver: 'libsql' })
    const refused = /is open in this process with driver 'node:sqlite'.* 'libsql'/
    await expect(createInbox({ store: beside }).stats()).rejects.toThrow(refused)
    expect(await deliver(event())).toMatchObject({ kind: 'accepted' })
  })

  test('the same library may have it open, in another thread too', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await deliver(event())
    const own = new DatabaseSync(file)
    onTestFinished(() => own.close())
    own.prepare('select count(*) from idv_entries').get()
    expect(await hasSecondLibrary(realpathSync(file))).toBe(false)
    await inbox.find()
    expect(await hasSecondLibrary(realpathSync(file))).toBe(false)
  })
})

describe.runIf(process.platform === 'linux')('beside code that opens and closes its files', () => {
  const told = /the lock of .* is gone: something in this process has opened and closed the file/

  test.each([
    { name: 'the file', end: '' },
    { name: 'the index of its log', end: '-shm' },
    { name: 'the lock of its owner', end: '-owner' },
  ])('deliveries are 503 once $name was read, and no command does harm', async ({ end }) => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await deliver(event())
    readFileSync(`${file}${end}`)
    let kept = 1
    await until(async () => {
      const { kind } = await deliver(event())
      if (kind === 'accepted') kept += 1
      return kind === 'failed'
    })
    await expect(inbox.stats()).rejects.toThrow(told)
    await until(() => !existsSync(`${file}-wal`))
    const command = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
    expect(await command.stats()).toMatchObject({ stored: kept })
    await command.close()
    await inbox.close()
    const { inbox: again } = setUp({ store: sqliteStore(file) })
    expect(await again.stats()).toMatchObject({ stored: kept })
    expect(integrityOf(file)).toEqual({ integrity_check: 'ok' })
  })

  test('connections of the library may come and go', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await deliver(event())
    const locks = new OwnLocks(['', '-shm', '-owner'].map((end) => `${realpathSync(file)}${end}`))
    for (let at = 0; at < 3; at++) {
      const own = new DatabaseSync(file)
      own.prepare('select count(*) from idv_entries').get()
      own.close()
      await inbox.find()
      expect(locks.lost()).toBeUndefined()
    }
    readFileSync(file)
    expect(locks.lost()).toMatch(told)
  })

  test('an operator goes on where the owner in its process closes', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await deliver(event())
    const beside = operator(file)
    expect(await beside.stats()).toMatchObject({ stored: 1 })
    await inbox.close()
    utimesSync(`${file}-shm`, 1, 1)
    expect(await beside.stats()).toMatchObject({ stored: 1 })
  })

  test('a process without a free descriptor keeps on, and has lost no lock', async () => {
    const file = temporaryFile()
    const source = `${import.meta.dirname}/../../src/inbox`
    const script = `
      import { closeSync, openSync, utimesSync } from 'node:fs'
      import { sqliteStore } from '${source}/stores/sqlite/sqlite.ts'
      import { newEntry } from '${source}/../testing/store-cases.ts'
      const file = ${JSON.stringify(file)}
      const store = sqliteStore(file)
      await store.open(() => {})
      await store.insert(newEntry())
      const taken = []
      try { for (;;) taken.push(openSync('/dev/null')) } catch (error) { console.log(error.code) }
      const kept = async () => (await store.insert(newEntry())).kind
      utimesSync(file + '-shm', 1, 1)
      console.log(await kept())
      // Over the next looks.
      await new Promise((resolve) => setTimeout(resolve, 2_500))
      console.log(await kept())
      for (const one of taken) closeSync(one)
      utimesSync(file + '-shm', 2, 2)
      console.log(await kept())
      await store.close()`
    const child = spawn('sh', [
      '-c',
      'ulimit -n 100; exec "$0" "$@"',
      process.execPath,
      '--input-type=module-typescript',
      '-e',
      script,
    ])
    onTestFinished(() => void child.kill('SIGKILL'))
    const said: string[] = []
    child.stdout.on('data', (chunk) => said.push(String(chunk)))
    child.stderr.on('data', (chunk) => said.push(String(chunk)))
    await once(child, 'close')
    expect(said.join('').trim().split('\n')).toEqual(['EMFILE', 'stored', 'stored', 'stored'])
  })
})
