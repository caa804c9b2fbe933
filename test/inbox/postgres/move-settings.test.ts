// Moves between stores whose server, driver or role is not the usual one.
import { DatabaseSync } from 'node:sqlite'
import { type InboxStore, moveInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import { type SqliteDatabase, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { CopyStore } from '../../../src/inbox/copy-store.ts'
import { moveSettingOf } from '../../../src/inbox/move-state.ts'
import { claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { temporaryFile } from '../temporary.ts'
import { freshSchema, poolOf, schemaOn, servers } from './servers.ts'

const salt = Uint8Array.of(0, 120, 14, 255)
const other = new Uint8Array(4)
const [start, day] = [Date.UTC(2026, 0, 1), 86_400_000]

async function filled(file: string): Promise<string> {
  const store = sqliteStore(file)
  await store.open(() => {})
  await store.recall('salt', salt)
  await store.insert(newEntry())
  await store.close()
  return file
}

/** Of an inbox that opens: nothing in it speaks of a move that is not complete. */
async function saltOf(store: InboxStore): Promise<Uint8Array> {
  await store.open(() => {})
  expect(await store.recall('move', new Uint8Array())).toHaveLength(0)
  const found = await store.recall('salt', other)
  await store.close()
  return Uint8Array.from(found)
}

function poolWith(options: string, user = 'postgres'): pg.Pool {
  const url = new URL(servers.pg18)
  url.username = user
  const pool = new pg.Pool({ connectionString: url.href, max: 4, options })
  onTestFinished(() => pool.end())
  return pool
}

/** The part of a store that moves it, to be changed. */
function copyOf(store: InboxStore): CopyStore {
  const { copy } = store
  if (!copy) throw new Error('this store cannot be copied')
  Object.defineProperty(store, 'copy', { value: copy })
  return copy
}

test('a move out of a server whose bytes are written in the old form changes none', async () => {
  const schema = freshSchema()
  const driver = fromPg(poolWith('-c bytea_output=escape'))
  const open = () => postgresStore(driver, { schema, listen: false })
  await moveInbox(sqliteStore(await filled(temporaryFile())), open())
  const back = temporaryFile()
  expect((await moveInbox(open(), sqliteStore(back))).state).toBe('moved')
  expect(await saltOf(sqliteStore(back))).toEqual(salt)
})

test('a move that would lose a setting is given up: the source opens again', async () => {
  const file = await filled(temporaryFile())
  const target = sqliteStore(temporaryFile())
  const copy = copyOf(target)
  const add = copy.add.bind(copy)
  copy.add = (table, rows) =>
    add(table, table === 'settings' ? rows.map((row) => ({ ...row, value: other })) : rows)
  await expect(moveInbox(sqliteStore(file), target)).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringContaining('the setting salt is not the same'),
  })
  expect(await saltOf(sqliteStore(file))).toEqual(salt)
})

/** As Node 22 before 22.20 and better-sqlite3: a numbered parameter has a name there. */
const strict = (file: string) => {
  const db = new DatabaseSync(file)
  const prepare = db.prepare.bind(db)
  db.prepare = (sql) => {
    if (/\?\d/.test(sql)) throw new RangeError('column index out of range')
    return prepare(sql)
  }
  return db as unknown as SqliteDatabase
}

test('a move needs no numbered parameters of SQLite', async () => {
  const [file, to] = [await filled(temporaryFile()), temporaryFile()]
  const stores = [file, to].map((name) => sqliteStore(name, { driver: strict })) as [never, never]
  expect((await moveInbox(...stores)).state).toBe('moved')
  expect(await saltOf(sqliteStore(to))).toEqual(salt)
})

test('a source that cannot be read is left as it was', async () => {
  const file = await filled(temporaryFile())
  const failing = sqliteStore(file)
  copyOf(failing).read = () => Promise.reject(new RangeError('column index out of range'))
  await expect(moveInbox(failing, sqliteStore(temporaryFile()))).rejects.toThrow(RangeError)
  expect(await saltOf(sqliteStore(file))).toEqual(salt)
})

test('a role that may not set the numbers of entries is refused before anything is shut', async () => {
  const file = await filled(temporaryFile())
  const { schema, open, query } = schemaOn(undefined, { listen: false })
  const user = `user_${schema}`
  const made = open()
  await made.open(() => {})
  await made.close()
  await poolOf().query(`create role ${user} login; grant usage on schema ${schema} to ${user};
    grant select, insert, update, delete on all tables in schema ${schema} to ${user}`)
  const pool = poolWith('', user)
  const target = () => postgresStore(fromPg(pool), { schema, listen: false, migrate: false })
  for (const dryRun of [true, false]) {
    const moved = moveInbox(sqliteStore(file), target(), { dryRun })
    const grant = `grant update on sequence ${schema}.entries_seq_seq to ${user}`
    await expect(moved).rejects.toMatchObject({
      code: 'STORE_UNSUITABLE',
      message: expect.stringContaining(grant),
    })
    expect(await saltOf(sqliteStore(file))).toEqual(salt)
  }
  await query(`grant update on sequence idv.entries_seq_seq to ${user}`)
  expect((await moveInbox(sqliteStore(file), target())).state).toBe('moved')
})

test('a move is durable at its end in a server that may lose commits', async () => {
  const file = await filled(temporaryFile())
  const { schema, open, query } = schemaOn(undefined, { listen: false })
  const made = open()
  await made.open(() => {})
  await made.close()
  await query(`create table idv.noted (at serial, how text);
    create function idv.note() returns trigger language plpgsql as $$ begin
      insert into idv.noted (how) values (current_setting('synchronous_commit'));
      return new;
    end $$;
    create trigger noted after insert or update on idv.settings for each row
      when (new.name = 'move') execute function idv.note()`)
  const driver = fromPg(poolWith('-c synchronous_commit=off'))
  await moveInbox(sqliteStore(file), postgresStore(driver, { schema, listen: false }))
  const last = 'select how from idv.noted order by at desc limit 1'
  expect(await query(last)).toEqual([{ how: 'on' }])
})

test('a target that lost the last steps of a move is filled by the same command', async () => {
  const file = await filled(temporaryFile())
  const { open, query } = schemaOn(undefined, { listen: false })
  await moveInbox(sqliteStore(file), open())
  const [origin] = await query("select value from idv.settings where name = 'origin'")
  const filling = moveSettingOf('filling', String(origin?.value))
  await query("update idv.settings set value = $1 where name = 'move'", [Buffer.from(filling)])
  await query('delete from idv.entries')
  await query("delete from idv.settings where name = 'origin'")
  const report = await moveInbox(sqliteStore(file), open())
  expect(report).toMatchObject({ state: 'moved', isResumed: true, to: { entries: 1 } })
  await expect(moveInbox(sqliteStore(file), open())).resolves.toMatchObject({ state: 'before' })
})

test.each([0, 1])(
  'an inbox of %i entries is not moved onto itself by another address',
  async (rows) => {
    const { open, schema, query } = schemaOn()
    const store = open()
    await store.open(() => {})
    for (let row = 0; row < rows; row++) await store.insert(newEntry())
    await store.close()
    const settings = () => query('select name, value from idv.settings order by name')
    const before = await settings()
    const other = postgresStore(fromPg(poolWith('-c timezone=Asia/Tokyo')), { schema })
    for (const dryRun of [true, false]) {
      await expect(moveInbox(open(), other, { dryRun })).rejects.toMatchObject({
        code: 'STORE_UNSUITABLE',
        message: expect.stringMatching(/are the same inbox/),
      })
    }
    expect(await settings()).toEqual(before)
    const [next, elsewhere] = [schemaOn().open(), sqliteStore(temporaryFile())]
    expect((await moveInbox(open(), next, { dryRun: true })).state).toBe('planned')
    expect((await moveInbox(open(), elsewhere)).state).toBe('moved')
  },
)

test('an inbox whose tables are all published opens, works, and is moved into', async () => {
  const { schema, open, query } = schemaOn()
  await query(`create schema "${schema}"`)
  await query(`create publication "${schema}" for tables in schema "${schema}"`)
  onTestFinished(() => query(`drop publication "${schema}"`).then(() => {}))
  expect((await moveInbox(sqliteStore(await filled(temporaryFile())), open())).state).toBe('moved')
  const [store, next] = [open(), open()]
  for (const one of [store, next]) await one.open(() => {})
  await store.insert(newEntry())
  const claimed = await claimOne(store)
  if (claimed) await settle(store, claimed, { to: 'done' })
  await query('select idv.fold_1()')
  expect((await next.stats(start)).counts).toMatchObject({ stored: 1, done: 1 })
  const past = start + 1_000 * day
  await store.purge({ doneBefore: past, deadBefore: past, keysBefore: past, limit: 10 })
  expect((await next.stats(start)).counts).toMatchObject({ stored: 1, done: 0 })
  for (const one of [store, next]) await one.close()
})
