// Connections that are given up: what is left of them at the server, and in the process.
import { fromPg, type PostgresDriver, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { GivenUp } from '../../../src/inbox/stores/postgres/given-up.ts'
import { migrate } from '../../../src/inbox/stores/postgres/migrations.ts'
import { Statements } from '../../../src/inbox/stores/postgres/statements.ts'
import { newEntry } from '../../../tools/conformance/store-cases.ts'
import { startProxy } from './proxy.ts'
import { freshSchema, poolOf, servers } from './servers.ts'

const doors = { pg18: servers.pg18, ...(servers.bouncer && { PgBouncer: servers.bouncer }) }

test.each([...Object.entries(doors), ['pg18 after set role', servers.pg18] as const])(
  'statements that are given up behind a lock take no more sessions than the pool twice: %s',
  async (door, connectionString) => {
    const name = freshSchema()
    const max = 3
    // The server shows this role nothing of what its own sessions do.
    const options = door.endsWith('set role') ? `-c role=${name}` : undefined
    if (options) {
      const { rows } = await poolOf().query('select current_database() as name')
      await poolOf().query(
        `create role ${name}; grant create on database ${rows[0].name} to ${name}`,
      )
    }
    const pool = new pg.Pool({ connectionString, max, ...(options && { options }) })
    const store = postgresStore(fromPg(pool), { schema: name, timeout: 500, listen: false })
    await store.open(() => {})
    const server = poolOf(connectionString)
    const locking = await server.connect()
    onTestFinished(async () => {
      await store.close()
      await pool.end()
    })
    const sessions = async () => {
      const sql =
        "select count(*)::int as n from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like $1"
      return (await server.query(sql, [`%${name}%`])).rows[0].n
    }
    await locking.query(`begin; lock table "${name}".entries in access exclusive mode`)
    const codes = new Set<unknown>()
    for (let at = 0; at < 25; at++) {
      await store.insert(newEntry()).catch(({ code }) => codes.add(code))
    }
    expect([...codes]).toEqual(['STORE_TIMEOUT'])
    expect(await sessions(), door).toBeLessThanOrEqual(2 * max)
    await expect(store.insert(newEntry())).rejects.toThrow('given up still wait at the server')
    // Its signs of life need another table, or others would take its entries.
    const heard = await server.query(`select seen from "${name}".owners`)
    await vi.waitFor(
      async () => {
        const now = await server.query(`select seen from "${name}".owners`)
        expect(now.rows).not.toEqual(heard.rows)
      },
      { timeout: 5_000 },
    )
    await locking.query('rollback')
    locking.release()
    await vi.waitFor(() => store.insert(newEntry()), { timeout: 5_000 })
  },
  30_000,
)

test('a pool that has no place left to ask by takes no more sessions', async () => {
  const name = freshSchema()
  const pool = new pg.Pool({ connectionString: servers.pg18, max: 1 })
  const driver = fromPg(pool)
  const server = poolOf(servers.pg18)
  const locking = await server.connect()
  onTestFinished(async () => {
    await locking.query(`rollback; drop table "${name}"`)
    locking.release()
    await pool.end()
  })
  await locking.query(`create table "${name}" (id int)`)
  await locking.query(`begin; lock table "${name}" in access exclusive mode`)
  const waits = `select id from "${name}"`
  const ask = (ms: number) => driver.query(waits, [], AbortSignal.timeout(ms))
  await ask(1_000).catch(() => {})
  const held = await pool.connect()
  await expect(ask(20_000)).rejects.toThrow('it could not be asked in time')
  held.release()
  await expect(ask(1_000)).rejects.toThrow('given up still wait at the server')
  await vi.waitFor(() => driver.query('select 1', [], AbortSignal.timeout(2_000)))
}, 30_000)

test.each(Object.entries(doors))(
  'sessions of the application that wait for a lock count for nothing: %s',
  async (_, connectionString) => {
    const name = freshSchema()
    const max = 3
    const pool = new pg.Pool({ connectionString, max })
    const store = postgresStore(fromPg(pool), { schema: name, timeout: 500, listen: false })
    await store.open(() => {})
    const server = poolOf(servers.pg18)
    const locking = await server.connect()
    await locking.query('select pg_advisory_lock(4242)')
    const waiting = Array.from({ length: max }, () => new pg.Client(servers.pg18))
    for (const client of waiting) {
      client.on('error', () => {})
      await client.connect()
      client.query('select pg_advisory_lock(4242)').catch(() => {})
    }
    onTestFinished(async () => {
      await locking.query('select pg_advisory_unlock(4242)')
      locking.release()
      for (const client of waiting) await client.end()
      await store.close()
      await pool.end()
    })
    await locking.query(`begin; lock table "${name}".entries in access exclusive mode`)
    for (let at = 0; at < 10; at++) await store.insert(newEntry()).catch(() => {})
    await expect(store.insert(newEntry())).rejects.toThrow('given up still wait at the server')
    await locking.query('rollback')
    await vi.waitFor(() => store.insert(newEntry()), { timeout: 5_000 })
  },
  30_000,
)

test.each(Object.entries(doors))(
  'transactions of handlers that wait for a table of the application keep no delivery out: %s',
  async (_, connectionString) => {
    const name = freshSchema()
    const max = 3
    const pool = new pg.Pool({ connectionString, max })
    const driver = fromPg(pool)
    const store = postgresStore(driver, { schema: name, timeout: 500, listen: false })
    await store.open(() => {})
    const locking = await poolOf(servers.pg18).connect()
    onTestFinished(async () => {
      await locking.query(`rollback; drop table "${name}_app"`)
      locking.release()
      await store.close()
      await pool.end()
    })
    await locking.query(`create table "${name}_app" (id int)`)
    await locking.query(`begin; lock table "${name}_app" in access exclusive mode`)
    const never = new AbortController().signal
    for (let at = 0; at < max; at++) {
      const tx = await driver.begin(never)
      const { query } = tx.handle
      query(`select id from "${name}_app"`).catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 200))
      tx.destroy()
    }
    await expect(driver.begin(never)).rejects.toThrow('given up still wait at the server')
    await store.insert(newEntry())
  },
  30_000,
)

test.each([
  ['began before', 60_000, false],
  ['began later, and has its number', 5, true],
])('a session that %s is one that was given up, or not', async (_, ms, isOther) => {
  const text = 'select 1'
  const givenUp = new GivenUp(1, async () => [{ pid: 7, text, ms }])
  givenUp.add(7, text)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const asked = givenUp.assertFew(text)
  if (isOther) await asked
  else await expect(asked).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
})

test('a connection that goes silent while the schema is made is destroyed, and the opening fails', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const silent = () => new Promise<never>(() => {})
  const destroy = vi.fn()
  const tx = { handle: {}, query: silent, commit: silent, rollback: silent, destroy }
  const driver: PostgresDriver = {
    name: 'silent',
    query: async () => [{ known: false }],
    begin: async () => tx,
  }
  const made = migrate(new Statements(driver, { limit: 5_000, schema: 'idv' }), 'idv')
  const failed = expect(made).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
  await vi.advanceTimersByTimeAsync(130_000)
  await failed
  expect(destroy).toHaveBeenCalledOnce()
})

test('a listener that has gone silent is destroyed as its store closes', async () => {
  const proxy = await startProxy(servers.pg18, onTestFinished)
  const client = new pg.Client({ connectionString: proxy.url })
  const pool = new pg.Pool({ connectionString: servers.pg18, max: 2 })
  const driver = fromPg(pool, { listener: () => client })
  const store = postgresStore(driver, { schema: freshSchema() })
  await store.open(() => {})
  proxy.hold(true)
  await store.close()
  await pool.end()
  const { stream } = (client as unknown as { connection: { stream: { destroyed: boolean } } })
    .connection
  expect(stream.destroyed).toBe(true)
})
