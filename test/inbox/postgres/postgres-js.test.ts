// What handlers may do with postgres.js, and the state of its connections afterwards.
import { fromPg, fromPostgresJs, postgresStore } from 'idv-webhooks/inbox/postgres'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { claimOne, leaseOf, newEntry } from '../../../tools/conformance/store-cases.ts'
import { startProxy } from './proxy.ts'
import { freshSchema, poolOf, servers } from './servers.ts'

const connect = (url: string, max: number) => {
  const sql = postgres(url, { max, onnotice: () => {} })
  onTestFinished(() => sql.end({ timeout: 1 }))
  return sql
}

test('a pool with fetch_types: false, which has to open a connection, begins transactions', async () => {
  const sql = postgres(servers.pg18, { max: 1, fetch_types: false })
  onTestFinished(() => sql.end({ timeout: 1 }))
  const tx = await fromPostgresJs(sql).begin(new AbortController().signal)
  expect([...(await tx.handle`select 1 as one`)]).toEqual([{ one: 1 }])
  await tx.commit()
})

test('a connection that falls silent holds up no transaction on another', async () => {
  const proxy = await startProxy(servers.pg18, onTestFinished)
  const sql = connect(proxy.url, 2)
  const driver = fromPostgresJs(sql)
  const begin = () => driver.begin(new AbortController().signal)
  await begin().then((tx) => tx.commit())
  proxy.swallow(true)
  const silent = begin()
  silent.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 50))
  proxy.swallow(false)
  await begin().then((tx) => tx.commit())
}, 10_000)

/** One claimed entry, and a table for the effects of its handler. */
async function atWork(max: number) {
  const sql = connect(servers.pg18, max)
  const schema = freshSchema()
  const store = postgresStore(fromPostgresJs(sql), { schema, listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  const table = `effects_${schema}`
  await poolOf().query(`create table public.${table} (what text)`)
  await store.insert(newEntry())
  const tx = await store.transaction?.(leaseOf(await claimOne(store)), 'h')
  if (!tx) throw new Error('the store has no transactions')
  const effects = async () => {
    const { rows } = await poolOf().query(`select what from public.${table} order by what`)
    return rows.map(({ what }) => what)
  }
  return { sql, store, tx, table, effects }
}

test('begins for no entry that was forgotten while it waited for a connection', async () => {
  const { store, tx } = await atWork(2)
  await tx.rollback()
  const entry = newEntry()
  await store.insert(entry)
  const lease = leaseOf(await claimOne(store))
  expect(await store.forget(entry.lane, Date.now())).toBe(1)
  await expect(store.transaction?.(lease, 'h')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  await store.insert(newEntry())
  const next = await store.transaction?.(leaseOf(await claimOne(store)), 'h')
  expect(await next?.commit()).toBe(true)
})

test('begins for nobody where the connection falls silent after it was had', async () => {
  const { lazily: _, ...driver } = fromPg(poolOf())
  let isSilent = false
  const begin = async (signal: AbortSignal) => {
    const tx = await driver.begin(signal)
    return isSilent ? Object.assign(tx, { query: () => new Promise<never>(() => {}) }) : tx
  }
  const options = { schema: freshSchema(), listen: false }
  const store = postgresStore({ ...driver, begin }, options)
  await store.open(() => {})
  onTestFinished(() => store.close())
  await store.insert(newEntry())
  const lease = leaseOf(await claimOne(store))
  isSilent = true
  await expect(store.transaction?.(lease, 'h')).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
  expect(await store.checkpoint(lease)).toBe(true)
}, 15_000)

const ends = ['commit', 'rollback'] as const
const over = /the handler is over, and its transaction with it/

test.each(ends)(
  'after its %s a handler writes nothing more, in whatever way it tries',
  async (end) => {
    const { sql, tx, table, effects } = await atWork(2)
    const late = tx.handle as postgres.TransactionSql
    const name = late(table)
    await late`insert into ${name} values ('in time')`
    await tx[end]()
    expect(() => late`insert into ${name} values ('late')`).toThrow(over)
    expect(() => late.unsafe(`insert into ${table} values ('late')`)).toThrow(over)
    // The connection is free again, and belongs to the next caller.
    const other = await sql.reserve()
    const another = await sql.reserve()
    await Promise.all([other`begin`, another`begin`])
    expect(() => late`insert into ${name} values ('late')`).toThrow(over)
    await Promise.all([other`commit`, another`commit`])
    other.release()
    another.release()
    expect(await effects()).toEqual(end === 'commit' ? ['in time'] : [])
  },
)

test('what a handler sent without waiting for it belongs to its transaction', async () => {
  const { tx, table, effects } = await atWork(1)
  const handle = tx.handle as postgres.TransactionSql
  const sent = handle`insert into ${handle(table)} values ('not awaited')`.execute()
  expect(await tx.commit()).toBe(true)
  await sent
  expect(await effects()).toEqual(['not awaited'])
})

test('a begin that is answered after its time gives its connection back', async () => {
  const proxy = await startProxy(servers.pg18, onTestFinished)
  const sql = connect(proxy.url, 1)
  await sql`select 1`
  const late = new AbortController()
  proxy.hold(true)
  const begun = fromPostgresJs(sql).begin(late.signal)
  begun.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 50))
  late.abort(new Error('nobody waits'))
  proxy.hold(false)
  await expect(begun).rejects.toThrow('nobody waits')
  const [row] = await sql`select current_setting('idv_webhooks.tx', true) as mark`
  expect(row?.mark).not.toBe('open')
})

test.each([
  ['as it commits', 0],
  ['before it commits', 200],
])(
  'a connection that died %s leaves its place in the pool, and the process alone',
  async (_, wait) => {
    const { sql, tx, table, effects } = await atWork(1)
    const handle = tx.handle as postgres.TransactionSql
    const [backend] = await handle`select pg_backend_pid() as pid`
    await handle`insert into ${handle(table)} values ('lost with it')`
    await poolOf().query('select pg_terminate_backend($1)', [backend?.pid])
    if (wait > 0) {
      await new Promise((resolve) => setTimeout(resolve, wait))
      expect(() => handle`select 1`).toThrow(over)
    }
    await expect(tx.commit()).rejects.toMatchObject({ code: 'STORE_FAILED' })
    // postgres.js may tell the error of the old connection once more, to its next statement.
    const one = () => sql`select 1 as one`
    expect([...(await one().catch(one))]).toEqual([{ one: 1 }])
    expect(await effects()).toEqual([])
  },
)

/** A transaction of a caller who waited for the connection, and whether it is still open. */
async function beginNext(sql: postgres.Sql) {
  const next = await sql.reserve()
  await next`begin`
  await next`set local idv_webhooks.tx = 'mine'`
  return async () => {
    const [row] = await next`select current_setting('idv_webhooks.tx', true) as mark`
    await next`rollback`
    next.release()
    return row?.mark === 'mine'
  }
}

test('a commit that the server refuses touches nobody else on its connection', async () => {
  const { sql, tx, table } = await atWork(1)
  const handle = tx.handle as postgres.TransactionSql
  await handle.unsafe(`alter table ${table} add unique (what) deferrable initially deferred`)
  await handle`insert into ${handle(table)} values ('twice'), ('twice')`
  const next = beginNext(sql)
  await expect(tx.commit()).rejects.toMatchObject({ sqlState: '23505' })
  await tx.rollback()
  expect(await (await next)()).toBe(true)
})

test('a transaction that has ended sends nothing more to its connection', async () => {
  const sql = connect(servers.pg18, 3)
  const begin = () => fromPostgresJs(sql).begin(new AbortController().signal)
  const [committed, destroyed] = [
    await begin().then((tx) => tx.commit().then(() => tx)),
    await begin(),
  ]
  destroyed.destroy()
  const isOpen = await beginNext(sql)
  await expect(destroyed.commit()).rejects.toMatchObject({ code: 'STORE_FAILED' })
  await expect(committed.commit()).rejects.toMatchObject({ code: 'STORE_FAILED' })
  await committed.rollback()
  committed.destroy()
  expect(await isOpen()).toBe(true)
})

test('a connection that breaks as it commits is handed to nobody', async () => {
  const proxy = await startProxy(servers.pg18, onTestFinished)
  const sql = connect(proxy.url, 1)
  const tx = await fromPostgresJs(sql).begin(new AbortController().signal)
  const next = sql`select 1 as one`.execute()
  proxy.reset()
  await expect(tx.commit()).rejects.toThrow()
  expect([...(await next)]).toEqual([{ one: 1 }])
}, 5_000)

test('a statement of the application that failed after its first rows leaves nothing in other answers', async () => {
  const sql = connect(servers.pg18, 1)
  const driver = fromPostgresJs(sql)
  const { signal } = new AbortController()
  const fail = () => sql`select 10 / (3 - g) as x from generate_series(1, 5) g`.catch(() => {})
  await fail()
  const rows = await driver.query('select 7 as seven', [], signal)
  expect([rows.length, rows[0]]).toEqual([1, { seven: 7 }])
  await fail()
  const tx = await driver.begin(signal)
  const inside = await tx.handle`select 7 as seven`
  expect([inside.length, inside[0]]).toEqual([1, { seven: 7 }])
  await tx.commit()
})

test.each(['a cursor', 'a lock'])(
  'the connection of a handler that hangs in %s ends with its transaction',
  async (how) => {
    const { sql, tx, table, effects } = await atWork(2)
    const handle = tx.handle as postgres.TransactionSql
    await handle`insert into ${handle(table)} values ('undone')`
    const [backend] = await handle`select pg_backend_pid() as pid`
    const locking = await poolOf().connect()
    await locking.query('begin; select pg_advisory_xact_lock(77)')
    const hang = async () => {
      if (how === 'a lock') return handle`select pg_advisory_xact_lock(77)`
      return handle`select generate_series(1, 100)`.cursor(10, () => new Promise<void>(() => {}))
    }
    const hanging = hang()
    hanging.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 100))
    await tx.rollback()
    await locking.query('rollback')
    locking.release()
    const sessions =
      'select count(*)::int as n from pg_stat_activity where pid = $1 and query like $2'
    const left = async () =>
      (await poolOf().query(sessions, [backend?.pid, '%generate%'])).rows[0].n
    await expect.poll(left, { timeout: 8_000 }).toBe(0)
    const one = () => sql`select 1 as one`.then(([row]) => row, String)
    await expect.poll(one, { timeout: 8_000 }).toEqual({ one: 1 })
    expect(await effects()).toEqual([])
  },
  30_000,
)
