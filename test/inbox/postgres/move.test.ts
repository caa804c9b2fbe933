// An inbox that is moved from SQLite to Postgres and back: nothing is lost, nothing comes twice, and
// a move that is interrupted anywhere goes on.
import { DatabaseSync } from 'node:sqlite'
import {
  type CopyRow,
  type CopyStore,
  type CopyTable,
  createInbox,
  type InboxStore,
  moveInbox,
} from 'idv-webhooks/inbox'
import {
  fromPg,
  fromPostgresJs,
  type PostgresDriver,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import { type SqliteDatabase, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import pg from 'pg'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { copyTables, tableNames } from '../../../src/inbox/copy-store.ts'
import { claim, claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { temporaryFile } from '../temporary.ts'
import { freshSchema, poolOf, schemaOn, servers } from './servers.ts'

const onThisThread = (file: string) => new DatabaseSync(file) as unknown as SqliteDatabase

const start = Date.UTC(2026, 0, 1)
const tables = tableNames

async function opened<Store extends InboxStore>(store: Store): Promise<Store> {
  await store.open(() => {})
  onTestFinished(() => store.close())
  return store
}

/** Entries in every state, with what hangs on them. */
async function fill(store: InboxStore): Promise<void> {
  await store.open(() => {})
  await store.recall('salt', Uint8Array.of(1, 2, 3))
  const failures = [{ handler: 'h', code: 'HANDLER_FAILED', error: 'it said "no"' }] as const
  const failed = { reason: 'HANDLER_FAILED', failures } as const
  const next = async (given = {}) => {
    await store.insert(newEntry(given))
    return claimOne(store)
  }
  const retried = await next({ related: 'client:1', occurredAt: start })
  await store.checkpoint(retried, 'first')
  await settle(store, retried, { to: 'retry', due: start + 9e9, handled: ['second'], ...failed })
  const decision = { name: 'verification.approved', entryId: 'entry-0', seq: 1 } as const
  const mark = { at: start, final: true, decision }
  await settle(store, await next({ lane: 'done' }), { to: 'done', highWaterMark: mark })
  await settle(store, await next({ lane: 'held' }), { to: 'dead', hold: true, ...failed })
  await settle(store, await next({ lane: 'passed' }), { to: 'dead', hold: false, ...failed })
  await settle(store, await next({ lane: 'of.tenant' }), { to: 'skipped', reason: 'NO_HANDLER' })
  await settle(store, await next({ lane: 'forgotten' }), { to: 'done' })
  await store.forget('forgotten', start)
  const first = newEntry({ aliases: [{ key: 'twin', name: 'request.approved' }] })
  await store.insert(first)
  await store.insert({ ...newEntry(), key: first.key ?? '', digest: 'other bytes' })
  for (const lane of ['held', 'waiting', 'waiting']) await store.insert(newEntry({ lane }))
  const { key: _, name: __, ...bare } = newEntry({ body: new Uint8Array(70_000).fill(7) })
  await store.insert(bare)
  await store.claim({ now: start, limit: 1, until: start + 60_000 })
  await store.close()
}

async function everythingIn(store: InboxStore): Promise<Record<string, readonly CopyRow[]>> {
  await store.open(() => {})
  const { copy } = store
  if (!copy) throw new Error('this store cannot be copied')
  const pages = await Promise.all(tables.map((table) => copy.read(table)))
  await store.close()
  const plain = (row: CopyRow) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      ]),
    )
  return Object.fromEntries(tables.map((table, at) => [table, (pages[at] ?? []).map(plain)]))
}

/** PGlite is in drivers.test.ts: it takes seconds to start. */
const drivers = {
  pg: () => fromPg(poolOf()),
  'postgres.js': () => {
    const sql = postgres(servers.pg18, { max: 2, onnotice: () => {} })
    onTestFinished(() => sql.end())
    return fromPostgresJs(sql)
  },
}

test.each(Object.entries(drivers))(
  'an inbox that is moved to Postgres and back by %s is the same, row for row',
  async (_, make) => {
    const [file, back] = [temporaryFile(), temporaryFile()]
    const driver: PostgresDriver = make()
    const schema = freshSchema()
    const open = () => postgresStore(driver, { schema, listen: false })
    await fill(sqliteStore(file))
    const before = await everythingIn(sqliteStore(file))
    expect(tables.filter((table) => before[table]?.length === 0)).toEqual([])
    const report = await moveInbox(sqliteStore(file), open())
    expect(report.isResumed).toBe(false)
    expect(report.to).toEqual(report.from)
    expect(await everythingIn(open())).toEqual(before)
    await moveInbox(open(), sqliteStore(back))
    expect(await everythingIn(sqliteStore(back))).toEqual(before)
  },
)

test('a move copies every table and column, but for those that an engine fills itself', async () => {
  const own = ['entries.owner', 'entries.ticket', 'lanes.tenant', 'settings.value']
  const isCopied = (name: string) =>
    !own.includes(name) && !/^(owners|versions|counts)\./.test(name) && !name.includes('sequence')
  const copied = tables.flatMap((table) =>
    copyTables[table].split(/,\s+/).map((one) => `${table}.${one.split(' ')[0]}`),
  )
  const expected = copied.filter(isCopied).sort()
  const { schema, open, query } = schemaOn(undefined, { listen: false })
  await opened(open())
  const columns = await query(
    'select table_name, column_name from information_schema.columns where table_schema = $1',
    [schema],
  )
  const inPostgres = columns.map(({ table_name, column_name }) => `${table_name}.${column_name}`)
  expect(inPostgres.filter(isCopied).sort()).toEqual(expected)
  const file = temporaryFile()
  const store = sqliteStore(file)
  await store.open(() => {})
  await store.close()
  const db = new DatabaseSync(file)
  const inSqlite = db
    .prepare(`select t.name as "table", c.name from sqlite_schema t, pragma_table_info(t.name) c
      where t.type = 'table' and t.name glob 'idv_*'`)
    .all()
    .map((row) => `${row.table}.${row.name}`.replace('idv_', '').replace('high_water_', ''))
  db.close()
  expect(inSqlite.filter(isCopied).sort()).toEqual(expected)
})

test('what was moved is handled on: states, order, dedupe, new entries', async () => {
  const file = temporaryFile()
  const { open } = schemaOn(undefined, { listen: false })
  const source = sqliteStore(file)
  await source.open(() => {})
  const known = [newEntry({ lane: 'one' }), newEntry({ lane: 'one' })]
  for (const entry of known) await source.insert(entry)
  await claimOne(source)
  await source.close()
  await moveInbox(sqliteStore(file), open())
  const store = await opened(open())
  const added = newEntry({ lane: 'one' })
  expect((await store.insert(added)).kind).toBe('stored')
  expect((await store.insert({ ...added, ...known[0], id: 'again' })).kind).toBe('duplicate')
  expect((await store.stats(start)).counts).toMatchObject({ stored: 2, leased: 1 })
  // An entry that was at work in the file counts as a crash.
  const [lapsed] = await store.lapsed(start)
  expect(lapsed?.id).toBe(known[0]?.id)
  expect(await claim(store)).toEqual([])
  if (!lapsed) throw new Error('there was a lease')
  const lease = { id: lapsed.id, fence: lapsed.fence, owner: lapsed.owner ?? 0 }
  const crashed = { reason: 'CRASHED', failures: [], due: start, to: 'retry' } as const
  await store.settle({ lease, at: start, handled: [], ...crashed })
  for (const { id } of [...known, added]) {
    const claimed = await claimOne(store)
    expect(claimed.id).toBe(id)
    await settle(store, claimed, { to: 'done' })
  }
})

/** A store that dies before or after a call, as if its process had been killed there. */
function dyingAt(store: InboxStore, dies: (when: 'before' | 'after') => boolean): InboxStore {
  const guard = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get: (from, name) => {
        const value = Reflect.get(from, name, from)
        if (name === 'copy') return guard(value as object)
        if (typeof value !== 'function') return value
        return async (...given: unknown[]) => {
          const isFree = name === 'open' || name === 'close'
          if (!isFree && dies('before')) throw new Error('killed')
          const answer = await Reflect.apply(value, from, given)
          if (!isFree && dies('after')) throw new Error('killed')
          return answer
        }
      },
    })
  return guard(store)
}

test('a move that is interrupted before or after any step goes on, and nothing comes twice', async () => {
  const files = { from: temporaryFile() }
  await fill(sqliteStore(files.from))
  const before = await everythingIn(sqliteStore(files.from))
  const { open } = schemaOn(undefined, { listen: false })
  let deaths = 0
  let last = ''
  for (let step = 1; last !== 'moved'; step++) {
    let calls = 0
    const dies = (when: string) => (when === 'before' ? ++calls * 2 - 1 : calls * 2) === step
    const moving = moveInbox(
      dyingAt(sqliteStore(files.from, { check: 'quick', driver: onThisThread }), dies),
      dyingAt(open(), dies),
    )
    last = await moving.then(
      () => 'moved',
      (error: Error) => {
        // The last step of all: the target is complete, and open.
        if (/was moved to another store/.test(error.message)) return 'moved'
        expect(error.message).toBe('killed')
        deaths++
        return 'killed'
      },
    )
  }
  expect(deaths).toBeGreaterThan(20)
  expect(await everythingIn(open())).toEqual(before)
})

test('an inbox that was moved, or is being moved, is not opened', async () => {
  const file = temporaryFile()
  const { open } = schemaOn(undefined, { listen: false })
  const inbox = createInbox({ store: sqliteStore(file) })
  await inbox.open()
  await inbox.close()
  const signal = AbortSignal.abort()
  const stopped = moveInbox(sqliteStore(file), open(), { signal })
  await expect(stopped).rejects.toThrow()
  for (const store of [sqliteStore(file), open()]) {
    await expect(createInbox({ store }).open()).rejects.toEqual(unsuitable(/is being moved/))
  }
  expect(await moveInbox(sqliteStore(file), open())).toMatchObject({ isResumed: true })
  await expect(inbox.open()).rejects.toEqual(unsuitable(/was moved/))
  const target = createInbox({ store: open() })
  await target.open()
  await target.close()
})

const unsuitable = (message: RegExp) =>
  expect.objectContaining({ code: 'STORE_UNSUITABLE', message: expect.stringMatching(message) })

async function expectOpens(store: InboxStore): Promise<void> {
  const inbox = createInbox({ store })
  await inbox.open()
  await inbox.close()
}

async function add(store: InboxStore, ...rows: Parameters<CopyStore['add']>): Promise<void> {
  await store.open(() => {})
  await store.copy?.add(...rows)
  await store.close()
}

/** A move that is interrupted after its first page of payloads. */
async function interrupted(from: () => InboxStore, to: () => InboxStore): Promise<void> {
  const stop = new AbortController()
  const onProgress = ({ table }: { readonly table: CopyTable }) => {
    if (table === 'contents') stop.abort()
  }
  await expect(moveInbox(from(), to(), { signal: stop.signal, onProgress })).rejects.toThrow()
}

test('a move whose copy differs is given up: the source opens, and moves into a new target', async () => {
  const [file, used, other] = [temporaryFile(), temporaryFile(), temporaryFile()]
  const from = () => sqliteStore(file)
  await expectOpens(from())
  await fill(from())
  await interrupted(from, () => sqliteStore(used))
  await add(sqliteStore(used), 'relations', [{ lane: 'zz', related: 'zz', at: start }])
  await expect(moveInbox(from(), sqliteStore(used))).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/1 relations became 2\. The source opens again/),
  })
  await expectOpens(from())
  const incomplete = createInbox({ store: sqliteStore(used) })
  await expect(incomplete.open()).rejects.toEqual(unsuitable(/is being moved into this one/))
  await expect(moveInbox(from(), sqliteStore(used))).rejects.toEqual(
    unsuitable(/part of another move: move into a new file/),
  )
  const before = await everythingIn(from())
  await moveInbox(from(), sqliteStore(other))
  expect(await everythingIn(sqliteStore(other))).toEqual(before)
})

test('the incomplete copy of an interrupted move is not moved on', async () => {
  const [file, third] = [temporaryFile(), temporaryFile()]
  const from = () => sqliteStore(file)
  const { open } = schemaOn(undefined, { listen: false })
  await fill(from())
  await interrupted(from, open)
  for (const target of [() => sqliteStore(third), from]) {
    await expect(moveInbox(open(), target())).rejects.toEqual(
      unsuitable(/is being moved into this one|is being moved: run/),
    )
  }
  expect(await moveInbox(from(), open())).toMatchObject({ isResumed: true })
})

test('a move needs an empty target, and both applications stopped', async () => {
  const file = temporaryFile()
  const { open } = schemaOn(undefined, { listen: false })
  const running = await opened(open())
  await expect(moveInbox(sqliteStore(file), open())).rejects.toMatchObject({ code: 'STORE_OWNED' })
  await expect(moveInbox(open(), sqliteStore(file))).rejects.toMatchObject({ code: 'STORE_OWNED' })
  await running.insert(newEntry())
  await running.close()
  await expect(moveInbox(sqliteStore(file), open())).rejects.toMatchObject({
    code: 'STORE_UNSUITABLE',
    message: expect.stringContaining('must be an empty inbox'),
  })
})

test.each([0, 1])(
  'an inbox of %i entries is not moved onto itself',
  async (rows) => {
    const { open, query } = schemaOn()
    const store = open()
    await store.open(() => {})
    for (let row = 0; row < rows; row++) await store.insert(newEntry())
    await store.close()
    const state = () => query("select * from idv.settings where name = 'move' and value <> ''")
    await expect(moveInbox(open(), open())).rejects.toMatchObject({ code: /STORE/ })
    expect(await state()).toEqual([])
    await moveInbox(open(), sqliteStore(temporaryFile()))
  },
  30_000,
)

test('a move is durable at its end in a server that may lose commits', async () => {
  const file = temporaryFile()
  await fill(sqliteStore(file))
  const { schema, open, query } = schemaOn(undefined, { listen: false })
  await expectOpens(open())
  await query(`create table idv.noted (at serial, how text);
    create function idv.note() returns trigger language plpgsql as $$ begin
      insert into idv.noted (how) values (current_setting('synchronous_commit'));
      return new;
    end $$;
    create trigger noted after insert or update on idv.settings for each row
      when (new.name = 'move') execute function idv.note()`)
  const lax = new pg.Pool({
    connectionString: servers.pg18,
    max: 4,
    options: '-c synchronous_commit=off',
  })
  onTestFinished(() => lax.end())
  await moveInbox(sqliteStore(file), postgresStore(fromPg(lax), { schema, listen: false }))
  expect(await query('select how from idv.noted order by at desc limit 1')).toEqual([{ how: 'on' }])
})
