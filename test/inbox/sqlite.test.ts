import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Context } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { type SqliteDatabase, type SqliteTransaction, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { dueSql, nextOpenSql } from '../../src/inbox/stores/sqlite/lanes.ts'
import { claimOne, newEntry, settle } from '../../tools/conformance/store-cases.ts'
import { event, setUp, until } from './admin.ts'
import { temporaryFile, temporaryFolder } from './temporary.ts'

/** A database of the application beside ours, on the same file. */
function application(file: string) {
  const db = new DatabaseSync(file, { timeout: 5_000 })
  onTestFinished(() => db.close())
  return db
}

test('open entries whose lanes a damaged file has lost are handled after a start', async () => {
  const file = temporaryFile()
  const before = setUp({ store: sqliteStore(file) })
  for (let at = 0; at < 3; at++)
    await before.deliver(event('client.created', { id: `cli_${at % 2}` }))
  await before.inbox.close()
  // As `.recover` leaves it where a page of the lanes could not be read.
  const db = new DatabaseSync(file)
  db.exec('delete from idv_lanes')
  db.close()
  const { inbox, receiver, worker } = setUp({ store: sqliteStore(file) })
  const handled: string[] = []
  receiver.on('*', ({ id = '' }) => void handled.push(id))
  await worker.start()
  await until(async () => (await inbox.stats()).done === 3)
  expect(handled.toSorted()).toEqual(handled)
})

describe('context.tx', () => {
  const ready = async (parts = {}) => {
    const file = temporaryFile()
    const parted = setUp({ store: sqliteStore(file), ...parts })
    await parted.inbox.open()
    const db = application(file)
    db.exec('create table approvals (id text, attempt integer)')
    const effects = () => db.prepare('select id, attempt from approvals order by rowid').all()
    return { ...parted, db, effects }
  }
  const write = (tx: unknown, id: string | undefined, attempt: number) =>
    (tx as SqliteTransaction).prepare('insert into approvals values (?, ?)').run(id ?? '', attempt)

  test('commits effects together with the checkpoint of their handler', async () => {
    const { deliver, receiver, worker, effects } = await ready()
    const save = ({ id }: { readonly id?: string }, { tx, attempt }: Context) => {
      expect(write(tx, id, attempt).changes).toBe(1)
    }
    receiver.on('*', save, { tx: true }).on('*', (_, { attempt }) => {
      if (attempt === 1) throw new Error('later')
    })
    const one = event()
    await deliver(one)
    expect(await worker.runOnce()).toMatchObject({ retry: 1, done: 1 })
    expect(effects()).toEqual([{ id: one.id, attempt: 1 }])
  })

  test('sees its own writes, and undoes them when the handler fails', async () => {
    const { deliver, receiver, worker, effects } = await ready()
    let runs = 0
    const handler = ({ id }: { readonly id?: string }, { tx, attempt }: Context) => {
      runs++
      const handle = tx as SqliteTransaction
      write(handle, id, attempt)
      handle.exec('insert into approvals select id, -attempt from approvals')
      expect(handle.prepare('select count(*) as n from approvals').get()).toEqual({ n: 2 })
      if (attempt < 3) throw new Error('no')
    }
    receiver.on('*', handler, { tx: true })
    const one = event()
    await deliver(one)
    expect(await worker.runOnce()).toMatchObject({ retry: 2, done: 1 })
    expect(effects()).toEqual([
      { id: one.id, attempt: 3 },
      { id: one.id, attempt: -3 },
    ])
    // None found the transaction of the attempt before still open.
    expect(runs).toBe(3)
  })

  const contended = async (wait: number) => {
    const { deliver, receiver, worker, effects } = await ready({ worker: { concurrency: 8 } })
    let runs = 0
    const handler = async ({ id }: { readonly id?: string }, { tx, attempt }: Context) => {
      runs++
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      write(tx, id, attempt)
      await new Promise((resolve) => setTimeout(resolve, 5))
      write(tx, id, -attempt)
    }
    receiver.on('*', handler, { tx: true })
    const sent = Array.from({ length: 8 }, (_, at) => event('client.created', { id: `c${at}` }))
    for (const one of sent) await deliver(one)
    expect(await worker.runOnce()).toMatchObject({ done: 8, retry: 0 })
    expect(effects()).toHaveLength(16)
    return runs
  }

  // SQLite rolls the whole transaction back for these, whatever the handler makes of the error.
  const rollingBack = {
    'a statement that says so': "insert or rollback into taken values ('one')",
    'a table that says so': "insert into strict_taken values ('one')",
    'a trigger that says so': "insert into guarded values ('one')",
    'a full disk':
      "pragma max_page_count = 60; insert into taken values (printf('%.*c', 900000, 'x'))",
  }
  const tables = `create table taken (id text unique); insert into taken values ('one');
    create table strict_taken (id text unique on conflict rollback);
    insert into strict_taken values ('one'); create table guarded (id text);
    create trigger guard before insert on guarded begin select raise(rollback, 'no'); end`

  test.each(Object.entries(rollingBack))(
    'keeps nothing of a handler that swallowed the error of %s',
    async (_, sql) => {
      const { deliver, receiver, worker, effects, inbox, db } = await ready({
        retry: { attempts: 2, delays: [0] },
      })
      db.exec(tables)
      const attempts: string[] = []
      const swallow = (tx: SqliteTransaction) => {
        expect(() => tx.exec(sql)).toThrow()
        if (sql.includes('max_page_count')) db.exec('pragma max_page_count = 1000000')
      }
      receiver.on(
        'verification.approved',
        ({ id }, { tx, attempt }) => {
          write(tx, id, attempt)
          swallow(tx as SqliteTransaction)
          attempts.push('at the end')
        },
        { tx: true, id: 'ends' },
      )
      receiver.on(
        'client.created',
        ({ id }, { tx, attempt }) => {
          swallow(tx as SqliteTransaction)
          attempts.push('before another')
          const message = 'a statement failed and ended the whole transaction'
          expect(() => write(tx, id, attempt)).toThrow(message)
        },
        { tx: true, id: 'goes-on' },
      )
      await deliver(event())
      await deliver(event('client.created', { id: 'c' }))
      expect(await worker.runOnce()).toMatchObject({ retry: 2, dead: 2, done: 0 })
      expect(effects()).toEqual([])
      expect(attempts.sort()).toEqual([
        ...['at the end', 'at the end'],
        ...['before another', 'before another'],
      ])
      const [last, first] = (await inbox.find()).entries
      expect([last?.handled, first?.handled]).toEqual([[], []])
    },
  )

  test('belongs to one handler at a time, and the others wait for their turn to start', async () => {
    expect(await contended(0)).toBe(8)
    expect(await contended(160)).toBe(8)
  })

  test('is undefined for handlers registered without tx: true', async () => {
    const { deliver, receiver, worker } = await ready()
    const seen: unknown[] = []
    receiver.on('*', (_event, { tx }) => void seen.push(tx), { tx: false })
    receiver.on('*', (_event, { tx }) => void seen.push(tx))
    await deliver(event())
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(seen).toEqual([undefined, undefined])
  })

  test('is over when its handler timed out: what comes late is not written', async () => {
    const { deliver, receiver, worker, effects } = await ready({ receiver: { handlerTimeout: 20 } })
    const late = Promise.withResolvers<void>()
    const told = Promise.withResolvers<unknown>()
    const handler = async ({ id }: { readonly id?: string }, { tx, attempt }: Context) => {
      write(tx, id, attempt)
      if (attempt > 1) return
      await late.promise
      try {
        write(tx, id, 100)
      } catch (error) {
        told.resolve(error)
      }
    }
    receiver.on('*', handler, { tx: true })
    const one = event()
    await deliver(one)
    expect(await worker.runOnce()).toMatchObject({ retry: 1, done: 1 })
    late.resolve()
    expect(await told.promise).toMatchObject({ message: /handler is over/ })
    expect(effects()).toEqual([{ id: one.id, attempt: 2 }])
  })

  test('lets deliveries be kept while it is open, for it is never open for long', async () => {
    const { deliver, receiver, worker, effects, inbox } = await ready({ retry: { attempts: 1 } })
    const begun = Promise.withResolvers<void>()
    const handler = async ({ id }: { readonly id?: string }, context: Context) => {
      write(context.tx, id, context.attempt)
      begun.resolve()
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
    }
    receiver.on('verification.approved', handler, { tx: true })
    await deliver(event())
    await worker.start()
    await begun.promise
    expect((await deliver(event('client.created', { id: 'c' }))).kind).toBe('accepted')
    await worker.drain({ grace: 10 })
    expect(effects()).toEqual([])
    const [, first] = (await inbox.find()).entries
    expect(first).toMatchObject({ name: 'verification.approved', state: 'stored' })
  })

  test('begins for no entry that was forgotten while it waited for its turn', async () => {
    const { deliver, receiver, worker, inbox, effects } = await ready()
    const begun: unknown[] = []
    const goOn = Promise.withResolvers<void>()
    const handler = async ({ id }: { readonly id?: string }, { tx, attempt }: Context) => {
      begun.push(id)
      await goOn.promise
      write(tx, id, attempt)
    }
    receiver.on('client.*', handler, { tx: true })
    const [first, second] = [
      event('client.created', { id: 'first' }),
      event('client.created', { id: 'second' }),
    ]
    for (const one of [first, second]) await deliver(one)
    const ran = worker.runOnce()
    await until(() => begun.length === 1)
    await until(async () => (await inbox.stats()).leased === 2)
    const waits = begun[0] === first.id ? 'second' : 'first'
    expect(await inbox.forget(`client:${waits}`)).toBe(1)
    goOn.resolve()
    expect(await ran).toMatchObject({ done: 1 })
    expect(begun).toHaveLength(1)
    expect(effects()).toHaveLength(1)
  })

  test('is undone when the inbox closes under it, and nothing is thrown at nobody', async () => {
    const { deliver, receiver, worker, inbox, effects, db } = await ready()
    const begun = Promise.withResolvers<SqliteTransaction>()
    const end = Promise.withResolvers<void>()
    receiver.on(
      '*',
      async ({ id }, { tx, attempt }) => {
        write(tx, id, attempt)
        begun.resolve(tx as SqliteTransaction)
        await end.promise
      },
      { tx: true },
    )
    await deliver(event())
    const draining = worker.runOnce({ limit: 1 })
    const tx = await begun.promise
    await inbox.close()
    expect(() => tx.exec('delete from approvals')).toThrow('the inbox is closed')
    // Longer than a transaction may be open: an error in its timer would end the process.
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    end.resolve()
    expect(await draining).toMatchObject({ lost: 1 })
    expect(effects()).toEqual([])
    db.exec("insert into approvals values ('the file is free', 1)")
  })

  test('cannot be ended by hand', async () => {
    const { deliver, inbox, receiver, worker, effects } = await ready({ retry: { attempts: 1 } })
    const handler = ({ id }: { readonly id?: string }, { tx, attempt }: Context) => {
      write(tx, id, attempt)
      ;(tx as SqliteTransaction).exec('rollback')
    }
    receiver.on('*', handler, { tx: true })
    await deliver(event())
    expect(await worker.runOnce()).toMatchObject({ dead: 1 })
    expect(effects()).toEqual([])
    expect((await inbox.find()).entries).toMatchObject([{ handled: [] }])
  })

  test('does not stand in the way of deliveries on one thread either', async () => {
    const file = temporaryFile()
    const driver = (path: string) => new DatabaseSync(path)
    const { deliver, receiver, worker, inbox } = setUp({ store: sqliteStore(file, { driver }) })
    await inbox.open()
    application(file).exec('create table approvals (id text, attempt integer)')
    const begun = Promise.withResolvers<void>()
    const handler = async ({ id }: { readonly id?: string }, { tx, attempt }: Context) => {
      write(tx, id, attempt)
      begun.resolve()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    receiver.on('verification.approved', handler, { tx: true })
    await deliver(event())
    const drained = worker.runOnce()
    await begun.promise
    expect((await deliver(event('client.created', { id: 'c' }))).kind).toBe('accepted')
    expect(await drained).toMatchObject({ done: 1 })
  })
})

describe('the file', () => {
  const open = async (file: string, options = {}) => {
    const inbox = createInbox({ store: sqliteStore(file, options) })
    onTestFinished(() => inbox.close())
    await inbox.open()
    return inbox
  }

  test('is for its owner alone', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await inbox.open()
    await deliver(event())
    for (const name of readdirSync(dirname(file))) {
      expect(statSync(join(dirname(file), name)).mode & 0o777, name).toBe(0o600)
    }
  })

  test('that was restored with another mode is made private again', async () => {
    const file = temporaryFile()
    await (await open(file)).close()
    writeFileSync(`${file}-owner`, '')
    for (const one of [file, `${file}-owner`]) chmodSync(one, 0o644)
    await open(file)
    for (const name of readdirSync(dirname(file))) {
      expect(statSync(join(dirname(file), name)).mode & 0o777, name).toBe(0o600)
    }
  })

  test('belongs to one process: the second is refused, the first goes on', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await inbox.open()
    const script = `
      import { createInbox } from '${import.meta.dirname}/../../src/inbox/index.ts'
      import { sqliteStore } from '${import.meta.dirname}/../../src/inbox/stores/sqlite/sqlite.ts'
      createInbox({ store: sqliteStore(${JSON.stringify(file)}) }).open()
        .then(() => console.log('opened'), (error) => console.log(error.code, error.message))`
    const run = async () => {
      const child: ChildProcess = spawn(process.execPath, [
        '--input-type=module-typescript',
        '-e',
        script,
      ])
      let said = ''
      child.stdout?.on('data', (chunk) => {
        said += chunk
      })
      await once(child, 'close')
      return said
    }
    expect(await run()).toMatch(/^STORE_OWNED another process has the inbox .*inbox\.db open/)
    expect((await deliver(event())).kind).toBe('accepted')
    await inbox.close()
    expect(await run()).toMatch(/^opened/)
  })

  test('is shared by all inboxes of one process, until the last of them is closed', async () => {
    const file = temporaryFile()
    const first = setUp({ store: sqliteStore(file) })
    await first.deliver(event())
    const second = setUp({ store: sqliteStore(file) })
    expect((await second.deliver(event())).kind).toBe('accepted')
    expect((await first.deliver(event())).kind).toBe('accepted')
    expect(await second.inbox.stats()).toMatchObject({ stored: 3 })
    await first.inbox.close()
    expect((await second.deliver(event())).kind).toBe('accepted')
    expect(existsSync(`${file}-wal`)).toBe(true)
    await second.inbox.close()
    expect(existsSync(`${file}-wal`)).toBe(false)
    expect((await first.deliver(event())).kind).toBe('accepted')
    expect(await first.inbox.stats()).toMatchObject({ stored: 5 })
  })

  test('of another process is told as that by a process which has owned it before', async () => {
    const file = temporaryFile()
    await (await open(file)).close()
    const lock = application(`${file}-owner`)
    lock.exec('begin exclusive')
    await expect(open(file)).rejects.toThrow(/^another process has the inbox/)
    lock.exec('commit')
    await (await open(file)).close()
  })

  test('is written no more by an owner that was replaced where locks do not work', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await inbox.open()
    application(file).exec("update idv_settings set value = value + 1 where name = 'epoch'")
    expect(await deliver(event())).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      error: { message: expect.stringMatching(/another process has taken the inbox over/) },
    })
  })

  test('is refused when a newer program has written it', async () => {
    const file = temporaryFile()
    await (await open(file)).close()
    application(file).exec("update idv_settings set value = 99 where name = 'schema'")
    await expect(open(file)).rejects.toMatchObject({
      code: 'STORE_UNSUITABLE',
      message: expect.stringMatching(/schema 99.*upgrade/),
    })
  })

  test('is refused when it is damaged, with the way back', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    for (let at = 0; at < 50; at++) await deliver(event())
    await inbox.close()
    const size = statSync(file).size
    const handle = openSync(file, 'r+')
    for (let at = 4096; at < size; at += 4096)
      writeSync(handle, Buffer.alloc(64, 7), 0, 64, at + 900)
    const message = expect.stringMatching(/is damaged.*backup.*\.recover/)
    await expect(open(file)).rejects.toMatchObject({ code: 'STORE_DAMAGED', message })
  })

  test.each(['owner', 'operator'] as const)(
    'of another kind is told as that (%s)',
    async (mode) => {
      const file = temporaryFile()
      const text = 'name,score\nRobin,1\n'.repeat(99)
      writeFileSync(file, text)
      await expect(open(file, { mode })).rejects.toMatchObject({
        code: 'STORE_UNSUITABLE',
        message: expect.stringMatching(
          /is not an SQLite file and was left unchanged.*check the path/,
        ),
      })
      expect(readFileSync(file, 'utf8')).toBe(text)
    },
  )

  test('is refused where it cannot be trusted or written', async () => {
    const folder = temporaryFolder()
    const missing = open(join(folder, 'none', 'inbox.db'))
    await expect(missing).rejects.toThrow(/folder .*none does not exist: create it/)
    const long = open(join(folder, 'long'.repeat(99), 'inbox.db'))
    await expect(long).rejects.toThrow(/folder .* cannot be opened: ENAMETOOLONG/)
    await expect(open('file:inbox')).rejects.toMatchObject({ code: 'STORE_UNSUITABLE' })
    expect(() => sqliteStore('')).toThrow(/needs a path/)
    for (const given of ['postgres://app:the-password@db/app', 'host=db password=the-password']) {
      const address = () => sqliteStore(given)
      expect(address).toThrow(/got an address: Postgres has postgresStore\(\)/)
      expect(address).not.toThrow(/the-password/)
    }
    mkdirSync(join(folder, 'directory.db'))
    const within = open(join(folder, 'directory.db'))
    await expect(within).rejects.toThrow(/directory\.db is a folder: name a file in it, e\.g\. /)
    chmodSync(folder, 0o700)
  })

  test('is refused on a driver that will not sync every commit', async () => {
    class Careless extends DatabaseSync {
      override exec(sql: string) {
        super.exec(sql.replace(/synchronous = full/, 'synchronous = normal'))
      }
    }
    const file = temporaryFile()
    const driver = (path: string) => new Careless(path)
    await expect(open(file, { driver })).rejects.toMatchObject({
      code: 'STORE_UNSUITABLE',
      message: expect.stringMatching(/synchronous 1/),
    })
  })

  test('is refused with a driver that is not there', async () => {
    await expect(open(temporaryFile(), { driver: 'no-such-driver' })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringMatching(/install it/),
    })
  })

  test('may hold tables of the application, and leaves their version number alone', async () => {
    const file = temporaryFile()
    const db = application(file)
    db.exec('create table mine (id text); pragma user_version = 7')
    await open(file)
    expect(db.prepare('pragma user_version').get()).toEqual({ user_version: 7 })
  })

  test('is found again under every way to write its path', async () => {
    const folder = temporaryFolder()
    await open(join(folder, 'inbox.db'))
    mkdirSync(join(folder, 'x'))
    const { deliver } = setUp({ store: sqliteStore(`${folder}/x/../inbox.db`) })
    await deliver(event())
    const beside = await open(join(folder, 'inbox.db'))
    expect(await beside.stats()).toMatchObject({ stored: 1 })
  })
})

test('no work of an inbox reads all of its entries', async () => {
  const asked = new Set<string>()
  class Recorded extends DatabaseSync {
    override prepare(sql: string) {
      asked.add(sql)
      return super.prepare(sql)
    }
  }
  const file = temporaryFile()
  // Trust is granted here: the driver is Node's own.
  const driver = (path: string) => new Recorded(path) as unknown as SqliteDatabase
  const { deliver, inbox, receiver, worker } = setUp({ store: sqliteStore(file, { driver }) })
  receiver.on('*', ({ name }) => {
    if (name === 'client.created') throw new Error('no')
  })
  for (const name of ['verification.approved', 'client.created']) await deliver(event(name))
  await worker.start()
  await until(async () => (await inbox.stats()).dead === 1)
  await inbox.redrive({ state: 'dead' })
  await inbox.forget('verification:ver_1')
  await worker.drain()
  const db = application(file)
  // The newest entry is the last row, read from the end.
  const [work, other] = [/^(?:select|update|delete|with)/, /idv_settings|order by seq desc limit 1/]
  const plans = [...asked]
    .filter((sql) => work.test(sql) && !other.test(sql))
    .map((sql) => {
      const values = Array.from({ length: sql.split('?').length - 1 }, () => 0)
      const steps = db.prepare(`explain query plan ${sql}`).all(...values)
      return { sql, plan: steps.map(({ detail }) => String(detail)) }
    })
  const isWhole = (step: string) => /^SCAN (?:idv_entries|e)\b/.test(step)
  expect(plans.filter(({ plan }) => plan.some(isWhole))).toEqual([])
  // Almost all entries are done, so that an index by state is no help with those.
  const ofDone = plans.filter(({ sql }) => sql.includes("'done'"))
  expect(ofDone).toHaveLength(1)
  expect(ofDone.filter(({ plan }) => plan.join().includes('idv_entries_state'))).toEqual([])
})

describe('who looks', () => {
  test('needs no lock that a writer holds', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    await deliver(event())
    const beside = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
    onTestFinished(() => beside.close())
    await beside.open()
    const writing = application(file)
    writing.exec('begin immediate')
    expect((await beside.find()).entries).toHaveLength(1)
    expect(await beside.stats()).toMatchObject({ stored: 1 })
    expect((await inbox.find()).entries).toHaveLength(1)
    writing.exec('rollback')
  })

  test('does not wait for the writer, nor the writer for a search', async () => {
    const { deliver, inbox, receiver, worker } = setUp({ store: sqliteStore(temporaryFile()) })
    let found = 0
    const look = async (_: unknown, { tx }: Context) => {
      // From its first statement on, the handler has the writer's place.
      ;(tx as SqliteTransaction).exec('create table if not exists seen (id text)')
      found = (await inbox.find()).entries.length
    }
    receiver.on('*', look, { tx: true })
    await deliver(event())
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(found).toBe(1)
  })
})

describe('a claim', () => {
  test('reads the heads of free lanes by their index, however long the backlog', async () => {
    const file = temporaryFile()
    const { inbox } = setUp({ store: sqliteStore(file) })
    await inbox.open()
    const plan = application(file).prepare(`explain query plan ${dueSql}`).all('', 0, 16)
    expect(plan.map(({ detail }) => detail)).toEqual([
      'SEARCH idv_lanes USING COVERING INDEX idv_lanes_tenant (tenant=? AND due>? AND due<?)',
    ])
  })

  test('finds the next of a lane from where it stands, not from its beginning', async () => {
    const file = temporaryFile()
    const { inbox } = setUp({ store: sqliteStore(file) })
    await inbox.open()
    const plan = application(file).prepare(`explain query plan ${nextOpenSql}`).all('a', 'a')
    expect(plan[0]?.detail).toMatch(/USING INDEX idv_entries_lane \(lane=\? AND (seq|rowid)>\?\)/)
  })
})

describe('what is at rest', () => {
  const canary = 'CANARY-7d1f-Robin-Example'

  test('shows nothing of a person in file, log or lock when it is sealed', async () => {
    const file = temporaryFile()
    const encryption = { key: 'a1'.repeat(32) }
    const { deliver, inbox, receiver, worker, seen } = setUp({
      store: sqliteStore(file),
      encryption,
      retry: { attempts: 2, delays: [0] },
    })
    receiver.on('verification.*', ({ data }) => {
      if (data.id?.endsWith('bad')) throw new Error(canary, { cause: data })
    })
    const email = `${canary}@example.test`
    await deliver(event('verification.approved', { id: `${email}`, subjectName: canary }))
    await deliver(event('verification.approved', { id: `${email}-bad`, clientId: email }))
    await deliver({ ...event('verification.approved', { subjectName: canary }), id: canary })
    await deliver(`{"no envelope": "${canary}"`)
    expect(await worker.runOnce()).toMatchObject({ done: 2, dead: 2 })
    for (const name of readdirSync(dirname(file))) {
      const text = readFileSync(join(dirname(file), name), 'latin1')
      expect(text.includes(canary), name).toBe(false)
    }
    const { eventId: _, ...rest } = seen.find((one) => 'eventId' in one) as { eventId: string }
    const told = seen.map(({ ...one }) => ({ ...one, eventId: undefined }))
    expect(JSON.stringify([rest, told])).not.toContain(canary)
    expect((await inbox.find({ entity: `verification:${email}` })).entries).toHaveLength(1)
  })

  test('leaves no trace in the file of what was forgotten, sealed or not', async () => {
    const file = temporaryFile()
    const { deliver, inbox } = setUp({ store: sqliteStore(file) })
    for (let at = 0; at < 20; at++) await deliver(event('client.created', { id: `c${at}` }))
    await deliver(event('verification.approved', { subjectName: canary }))
    const traces = () =>
      readdirSync(dirname(file)).filter((name) =>
        readFileSync(join(dirname(file), name), 'latin1').includes(canary),
      )
    expect(traces()).not.toEqual([])
    expect(await inbox.forget('verification:ver_1')).toBe(1)
    expect(traces()).toEqual([])
  })
})

describe('beside its owner', () => {
  test('an operator finds, redrives and forgets, and the owner notices', async () => {
    const file = temporaryFile()
    const { deliver, inbox, receiver, worker, settled } = setUp({
      store: sqliteStore(file),
      retry: { attempts: 1 },
    })
    let broken = true
    receiver.on('*', () => {
      if (broken) throw new Error('no')
    })
    await worker.start()
    await deliver(event())
    await until(() => settled().length === 1)
    const beside = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
    onTestFinished(() => beside.close())
    expect((await beside.find()).entries).toMatchObject([{ state: 'dead' }])
    broken = false
    expect(await beside.redrive({})).toBe(1)
    await until(() => settled().length === 2)
    expect(settled()).toEqual(['dead', 'done'])
    expect(await beside.forget('verification:ver_1')).toBe(1)
    expect((await inbox.find()).entries).toMatchObject([{ erased: true }])
    const stranger = setUp({ store: sqliteStore(file, { mode: 'operator' }) })
    expect(await stranger.deliver(event())).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(stranger.worker.start()).rejects.toThrow(/keeps and claims nothing/)
  })

  test('an operator whose clock is ahead of the owner redrives at once', async () => {
    const file = temporaryFile()
    const [owner, beside] = [sqliteStore(file), sqliteStore(file, { mode: 'operator' })]
    for (const store of [owner, beside]) {
      await store.open(() => {})
      onTestFinished(() => store.close())
    }
    const start = Date.UTC(2026, 0, 1)
    const [first, second] = [newEntry({ lane: 'one' }), newEntry({ lane: 'one' })]
    for (const entry of [first, second]) await owner.insert(entry)
    const failed = { reason: 'HANDLER_FAILED', failures: [] } as const
    await settle(owner, await claimOne(owner), { to: 'dead', hold: true, ...failed, at: start + 9 })
    const redriven = { ids: [first.id], from: ['dead'], now: start + 600_000 } as const
    expect(await beside.reopen(redriven)).toBe(1)
    expect((await owner.stats(start + 9)).due).toBeLessThanOrEqual(start + 9)
    expect((await claimOne(owner, start + 9)).id).toBe(first.id)
  })

  test('an operator needs a file that is there and is an inbox', async () => {
    const file = temporaryFile()
    const open = () => createInbox({ store: sqliteStore(file, { mode: 'operator' }) }).open()
    await expect(open()).rejects.toThrow(/does not exist/)
    application(file).exec('create table mine (id text)')
    await expect(open()).rejects.toMatchObject({ code: 'STORE_UNSUITABLE' })
  })
})

test('the guide names every file that lies beside an open inbox', async () => {
  const file = temporaryFile()
  const { worker, deliver } = setUp({ store: sqliteStore(file) })
  await worker.start()
  await deliver(event())
  const guide = readFileSync(join(import.meta.dirname, '../../docs/operating.md'), 'utf8')
  const names = readdirSync(dirname(file))
  expect(names.length).toBeGreaterThan(4)
  expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([])
  const [, ignored = ''] = /```gitignore\n(.*)\*\n```/.exec(guide) ?? []
  expect(names.filter((name) => !name.startsWith(ignored || '?'))).toEqual([])
})

test('many arrivals at once share commits', async () => {
  const file = temporaryFile()
  let commits = 0
  class Counting extends DatabaseSync {
    override exec(sql: string) {
      if (sql === 'commit') commits++
      super.exec(sql)
    }
  }
  const { deliver, inbox } = setUp({
    store: sqliteStore(file, { driver: (path) => new Counting(path) }),
  })
  await inbox.open()
  commits = 0
  const kinds = await Promise.all(Array.from({ length: 300 }, () => deliver(event())))
  expect(kinds.every(({ kind }) => kind === 'accepted')).toBe(true)
  expect(commits).toBeLessThan(30)
})

test('closing and opening again loses nothing and runs on', async () => {
  const file = temporaryFile()
  const { deliver, inbox, receiver, worker, settled } = setUp({ store: sqliteStore(file) })
  receiver.on('*', () => {})
  await deliver(event())
  await inbox.close()
  expect(existsSync(`${file}-wal`)).toBe(false)
  await deliver(event())
  await worker.start()
  await until(() => settled().length === 2)
  expect(settled()).toEqual(['done', 'done'])
})
