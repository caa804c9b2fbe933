// A pool that the application shares with the inbox: what it changes in results, and transactions
// that it leaves open.
import { PGlite } from '@electric-sql/pglite'
import {
  fromPg,
  fromPglite,
  fromPostgresJs,
  type PostgresDriver,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { claim, claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { freshSchema, poolOf, schemaOn, servers } from './servers.ts'

const { pg18, ...others } = servers
const addresses = Object.values({ pg18, ...others }).filter((url) => url !== undefined)

function pgPool(options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: pg18, max: 4, ...options })
  onTestFinished(() => pool.end())
  return pool
}

function postgresJs(options: object = {}): postgres.Sql {
  const sql = postgres(pg18, { max: 2, onnotice: () => {}, ...options })
  onTestFinished(() => sql.end({ timeout: 1 }))
  return sql
}

/** A store that is open, with the warnings of the process. */
async function openOn(driver: PostgresDriver, schema = freshSchema()) {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const store = postgresStore(driver, { schema, listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  const committed = async () => {
    const { rows } = await poolOf().query(`select count(*)::int as n from "${schema}".entries`)
    return rows[0].n
  }
  return { store, schema, committed }
}

const parsing = (oid: number, parse: (text: string) => unknown) => {
  const types = { getTypeParser: (id: number) => (id === oid ? parse : pg.types.getTypeParser(id)) }
  return () => fromPg(pgPool({ types: types as never })) as PostgresDriver
}
const transforming = (transform: object) => () =>
  fromPostgresJs(postgresJs({ transform })) as PostgresDriver
const value = (change: (one: unknown) => unknown) => transforming({ value: { from: change } })

describe('a pool is refused at opening that changes', () => {
  test.each<[string, () => PostgresDriver]>([
    ['postgres.camel', transforming(postgres.camel)],
    ['postgres.toCamel', transforming({ column: { from: postgres.toCamel } })],
    ['postgres.pascal', transforming(postgres.pascal)],
    ['null to undefined', value((one) => one ?? undefined)],
  ])('%s', async (_, driver) => {
    const store = postgresStore(driver(), { schema: freshSchema(), listen: false })
    await expect(store.open(() => {})).rejects.toMatchObject({
      code: 'STORE_UNSUITABLE',
      message: expect.stringContaining('the pool changes names or values of results'),
    })
  })
})

test.each<[string, () => PostgresDriver]>([
  ['booleans to numbers', parsing(16, (text) => (text === 't' ? 1 : 0))],
  ['bytes to text', parsing(17, (text) => text)],
  ['64 bits to 32', parsing(20, (text) => Number(text) | 0)],
  ['64 bits to BigInt', parsing(20, BigInt)],
  ['text to what it holds', parsing(25, (text) => text.toUpperCase())],
  ['JSON in text', parsing(25, (text) => (text[0] === '[' ? JSON.parse(text) : text))],
])('parsers of pg that the application has set change nothing: %s', async (_, driver) => {
  const { store } = await openOn(driver())
  const entry = newEntry()
  await store.insert(entry)
  const claimed = await claimOne(store)
  expect(claimed).toMatchObject({ id: entry.id, name: entry.name, body: entry.body, gap: false })
  expect(await settle(store, claimed, { to: 'done' })).toBe(true)
  expect((await store.find({ limit: 1 }))[0]?.settledAt).toBeTypeOf('number')
})

describe.each(addresses)('in a transaction that was left open %#', (url) => {
  test('nothing is answered', async () => {
    const { schema, open } = schemaOn(url, { listen: false })
    await open().open(() => {})
    const client = await poolOf(url).connect()
    onTestFinished(() => client.release(true))
    const { rows } = await client.query(
      `select p.proname as name, p.pronargs + 0 as parameters from pg_proc p
        where p.prokind = 'p' and p.pronamespace = $1::regnamespace`,
      [schema],
    )
    expect(rows.length).toBe(18)
    for (const { name, parameters } of rows) {
      const text = `call ${schema}.${name}(${Array(parameters).fill('null').join(', ')})`
      await client.query('begin')
      await expect(client.query(text), text).rejects.toMatchObject({ code: '2D000' })
      await client.query('rollback')
    }
  })
})

const slips = { open: 'begin', failed: 'begin; select 1 / 0' }

test.each(Object.entries(slips))(
  'pg: what is acknowledged is committed, although a transaction was left %s in the pool',
  async (_, slip) => {
    const pool = pgPool({ max: 2 })
    const { store, committed } = await openOn(fromPg(pool) as PostgresDriver)
    for (let round = 1; round <= 3; round++) {
      const clients = [await pool.connect(), await pool.connect()]
      for (const client of clients) await client.query(slip).catch(() => {})
      for (const client of clients) client.release()
      expect(await store.insert(newEntry())).toMatchObject({ kind: 'stored' })
      expect(await committed()).toBe(round)
    }
    const entries = await claim(store)
    const leaked = await pool.connect()
    await leaked.query(slip).catch(() => {})
    leaked.release()
    for (const one of entries) expect(await settle(store, one, { to: 'done' })).toBe(true)
    const left = async () => {
      const sql = `select count(*)::int as n from pg_stat_activity where state like 'idle in transaction%' and query = $1`
      return (await poolOf().query(sql, [slip])).rows
    }
    // The server takes a moment to notice that a client has gone.
    await expect.poll(left, { timeout: 5_000 }).toEqual([{ n: 0 }])
    expect((await store.stats(0)).counts).toMatchObject({ done: 3 })
  },
)

test('postgres.js: nothing is acknowledged in a transaction that was left open in the pool', async () => {
  const sql = postgresJs({ max: 4 })
  const { store, committed } = await openOn(fromPostgresJs(sql) as PostgresDriver)
  const reserved = await Promise.all(Array.from({ length: 4 }, () => sql.reserve()))
  await reserved[0]?.unsafe('begin')
  for (const one of reserved) one.release()
  for (let round = 1; round <= 5; round++) {
    expect(await store.insert(newEntry())).toMatchObject({ kind: 'stored' })
    expect(await committed()).toBe(round)
  }
})

test('PGlite: nothing is acknowledged until the transaction has ended', async () => {
  const db = await PGlite.create()
  onTestFinished(() => db.close())
  const { store } = await openOn(fromPglite(db) as PostgresDriver)
  await db.query('begin')
  await expect(store.insert(newEntry())).rejects.toMatchObject({ code: 'STORE_FAILED' })
  await db.query('rollback')
  expect(await store.insert(newEntry())).toMatchObject({ kind: 'stored' })
})

test('a transaction that was left open is named in a warning', async () => {
  vi.resetModules()
  const inbox = await import('idv-webhooks/inbox/postgres')
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const pool = pgPool()
  const store = inbox.postgresStore(inbox.fromPg(pool), { schema: freshSchema(), listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  const client = await pool.connect()
  await client.query('begin')
  client.release()
  await store.insert(newEntry())
  expect(warned).toHaveBeenCalledWith(
    expect.stringContaining('left open'),
    expect.objectContaining({ code: 'IDV_POSTGRES_OPEN_TRANSACTION' }),
  )
})

test.each([
  ['read only', 'set session characteristics as transaction read only'],
  ['in another role', 'set role pg_monitor'],
])(
  'a connection that the application left %s fails one statement, and is not used again',
  async (_, slip) => {
    const pool = pgPool({ max: 1 })
    const { store, committed } = await openOn(fromPg(pool) as PostgresDriver)
    const client = await pool.connect()
    await client.query(slip)
    client.release()
    await expect(store.insert(newEntry())).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await store.insert(newEntry())
    expect(await committed()).toBe(1)
  },
)
