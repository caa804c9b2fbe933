// The `context.tx` that handlers get from each driver, and the rules that drivers must keep.
import { PGlite } from '@electric-sql/pglite'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox, type InboxStore, moveInbox } from 'idv-webhooks/inbox'
import {
  fromPg,
  fromPglite,
  fromPostgresJs,
  type PostgresDriver,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { claimOne, leaseOf, newEntry } from '../../../tools/conformance/store-cases.ts'
import { temporaryFile } from '../temporary.ts'
import { freshSchema, poolOf, schemaOn, servers } from './servers.ts'

interface Queried {
  query(text: string): Promise<unknown>
}

let pglite: Promise<PGlite> | undefined
/** One for all tests, for it takes a second to make; each has a schema of its own in it. */
const sharedPglite = () => {
  pglite ??= PGlite.create()
  return pglite
}
afterAll(async () => (await pglite)?.close())

/** One event through a receiver and a worker, handled with `context.tx`. */
async function handleOnce<Tx>(store: InboxStore<Tx>, handler: (tx: Tx) => unknown, attempts = 1) {
  const retry = { attempts: 2, delays: [1] }
  const inbox = createInbox({ store, retry, encryption: { key: new Uint8Array(32).fill(7) } })
  const receiver = createReceiver({ secret: testSecret, inbox })
  let ran = 0
  receiver.on(
    'verification.approved',
    async (_event, { tx }) => {
      ran++
      await handler(tx as Tx)
      if (ran < attempts) throw new Error('not yet')
    },
    { id: 'h', tx: true },
  )
  const delivery = await signedDelivery(fixture('verification.approved'))
  expect((await receiver.receive(delivery)).kind).toBe('accepted')
  const worker = createWorker(receiver)
  const reports = [await worker.runOnce()]
  await new Promise((resolve) => setTimeout(resolve, 20))
  reports.push(await worker.runOnce())
  const { entries } = await inbox.find()
  await worker.drain()
  await inbox.close()
  return { ran, states: entries.map(({ state }) => state), reports }
}

test('an inbox is moved into PGlite', async () => {
  const db = await sharedPglite()
  const file = temporaryFile()
  const source = sqliteStore(file)
  await source.open(() => {})
  const entry = newEntry()
  await source.insert(entry)
  await source.close()
  const target = postgresStore(fromPglite(db), { schema: freshSchema() })
  await moveInbox(sqliteStore(file), target)
  await target.open(() => {})
  expect((await claimOne(target)).id).toBe(entry.id)
  await target.close()
})

describe('an event is handled once, with its effects, through the driver for', () => {
  test('pg', async () => {
    const schema = freshSchema()
    await poolOf().query(`create table if not exists public.effects_${schema} (id int)`)
    const table = `public.effects_${schema}`
    const store = postgresStore(fromPg(poolOf()), { schema })
    const { ran, states } = await handleOnce(
      store,
      (tx) => tx.query(`insert into ${table} values ($1)`, [1]),
      2,
    )
    expect([ran, states]).toEqual([2, ['done']])
    expect((await poolOf().query(`select id from ${table}`)).rows).toEqual([{ id: 1 }])
  })

  test('postgres.js', async () => {
    const sql = postgres(servers.pg18, { max: 4, onnotice: () => {} })
    onTestFinished(() => sql.end())
    const schema = freshSchema()
    await sql.unsafe(`create table public.effects_${schema} (id int)`)
    const table = sql(`effects_${schema}`)
    const store = postgresStore(fromPostgresJs(sql), { schema })
    const { states } = await handleOnce(store, (tx) => tx`insert into ${table} values (${1})`, 2)
    expect(states).toEqual(['done'])
    expect([...(await sql`select id from ${table}`)]).toEqual([{ id: 1 }])
  })

  test('PGlite', async () => {
    const db = await sharedPglite()
    await db.exec('create table effects (id int)')
    const store = postgresStore(fromPglite(db), { schema: freshSchema() })
    expect(store.capabilities.survives).toBe('nothing')
    const insert = 'insert into effects values ($1)'
    const { states } = await handleOnce(store, (tx) => tx.query(insert, [1]), 2)
    expect(states).toEqual(['done'])
    expect((await db.query('select id from effects')).rows).toEqual([{ id: 1 }])
  })
})

test('what an encrypted inbox keeps stands in no table in plain', async () => {
  const { schema, open, query } = schemaOn()
  await handleOnce(open(), () => {})
  const tables = (await query(
    'select table_name as name from information_schema.tables where table_schema = $1',
    [schema],
  )) as { name: string }[]
  expect(tables.length).toBeGreaterThan(8)
  for (const { name } of tables) {
    const { rows } = await poolOf().query(`select t::text as row from ${schema}.${name} t`)
    const text = rows.map(({ row }) => row).join('\n')
    expect(text, name).not.toMatch(/ver_|evt_|firstName|226576656e7422|766572696669636174696f6e/)
  }
})

test('a handler that ends the transaction by hand fails, and nothing is lost sight of', async () => {
  const { open } = schemaOn()
  const store = open()
  const { states } = await handleOnce(store as InboxStore<pg.Pool>, (tx) => tx.query('commit'))
  expect(states).toEqual(['dead'])
})

const sqlOf = () => {
  const sql = postgres(servers.pg18, { max: 2, onnotice: () => {} })
  onTestFinished(() => sql.end({ timeout: 1 }))
  return sql
}

test.each([
  ['pg', () => fromPg(poolOf()) as PostgresDriver],
  ['postgres.js', () => fromPostgresJs(sqlOf()) as PostgresDriver],
])('a commit that the server answers with a rollback is no commit: %s', async (_, driver) => {
  const tx = await driver().begin(new AbortController().signal)
  await expect(tx.query('select 1 / 0', [])).rejects.toMatchObject({ code: '22012' })
  await expect(tx.commit()).rejects.toThrow(
    /the transaction was rolled back|handler is over|division/,
  )
})

test('a statement that no handler waits for belongs to its transaction, or fails it', async () => {
  const schema = freshSchema()
  const table = `public.effects_${schema}`
  await poolOf().query(`create table ${table} (id int)`)
  const store = postgresStore(fromPg(poolOf()), { schema })
  const { ran, states } = await handleOnce(store, async (tx) => {
    await tx.query(`insert into ${table} values (1)`)
    tx.query('select 1 / 0').catch(() => {})
  })
  expect([ran, states]).toEqual([2, ['dead']])
  expect((await poolOf().query(`select id from ${table}`)).rows).toEqual([])
})

const drivers = {
  pg: () => ({ driver: fromPg(poolOf()) as PostgresDriver, query: 'query' as const }),
  PGlite: async () => ({
    driver: fromPglite(await sharedPglite()) as PostgresDriver,
    query: 'query' as const,
  }),
  'postgres.js': () => ({
    driver: fromPostgresJs(sqlOf()) as PostgresDriver,
    query: 'unsafe' as const,
  }),
}
type Send = (what: string) => Promise<unknown>

/** Handlers that return before their statements are answered, or even sent. */
const hasty: Record<string, (send: Send) => unknown> = {
  'its first statement': (send) => void send('one').catch(() => {}),
  'an async function of its own': (send) => {
    const save = async () => {
      for (const what of ['one', 'two', 'three']) {
        await send(what)
        // A query builder takes some turns of its own for each.
        for (let turn = 0; turn < 20; turn++) await undefined
      }
    }
    save().catch(() => {})
  },
  'the rest of a chain': async (send) => {
    await send('one')
    send('two')
      .then(() => send('three'))
      .then(() => Promise.all([send('four'), send('five')]))
      .catch(() => {})
  },
}

test.each(Object.keys(drivers) as (keyof typeof drivers)[])(
  'what a handler asked for and did not await commits with it: %s',
  async (name) => {
    const { driver, query } = await drivers[name]()
    const store = postgresStore(driver, { schema: freshSchema(), listen: false })
    await store.open(() => {})
    onTestFinished(() => store.close())
    const signal = new AbortController().signal
    await driver.query('create table if not exists public.hasty (name text, what text)', [], signal)
    for (const [what, handler] of Object.entries(hasty)) {
      await store.insert(newEntry())
      const tx = await store.transaction?.(leaseOf(await claimOne(store)), 'h')
      if (!tx) throw new Error('the store has no transactions')
      const handle = tx.handle as Record<typeof query, (sql: string) => Promise<unknown>>
      let sent = 0
      const counted = `${name} ${what}`
      await handler((one) => {
        sent++
        return handle[query](`insert into public.hasty values ('${counted}', '${one}')`)
      })
      expect(await tx.commit()).toBe(true)
      const count = `select count(*)::int as n from public.hasty where name = '${counted}'`
      const effects = await driver.query(count, [], signal)
      expect([what, effects]).toEqual([what, [{ n: sent }]])
      expect(sent).toBe({ its: 1, an: 3, the: 5 }[what.split(' ')[0] as 'its'])
    }
  },
)

// Each is asked for in the turn in which the attempt ends, or a few after it.
test.each(['pg', 'PGlite'])(
  'what is asked for as an attempt ends is not written after its rollback: %s',
  async (name) => {
    const schema = freshSchema()
    const db: Queried = name === 'pg' ? poolOf() : await sharedPglite()
    const driver = name === 'pg' ? fromPg(db as pg.Pool) : fromPglite(db as PGlite)
    const store = postgresStore(driver as PostgresDriver<Queried>, { schema })
    await store.open(() => {})
    onTestFinished(() => store.close())
    await db.query('create table if not exists public.late_effects (what text)')
    for (const isBegun of [false, true]) {
      for (const turns of [0, 1, 2, 3, 5]) {
        await store.insert(newEntry())
        const tx = await store.transaction?.(leaseOf(await claimOne(store)), 'h')
        if (!tx) throw new Error('the store has no transactions')
        if (isBegun) await tx.handle.query('select 1')
        const write = async () => {
          for (let turn = 0; turn < turns; turn++) await undefined
          const what = `${schema} ${isBegun} ${turns}`
          await tx.handle.query(`insert into public.late_effects values ('${what}')`)
        }
        const written = write().catch(() => 'refused')
        await Promise.all([tx.rollback(), written])
      }
    }
    const late = `select what from public.late_effects where what like '${schema}%'`
    expect(await db.query(late)).toMatchObject({ rows: [] })
  },
)

test('a connection that ends as its pool hands it on ends no process', async () => {
  const pool = new pg.Pool({ connectionString: servers.pg18, max: 1 })
  onTestFinished(() => pool.end())
  fromPg(pool)
  let client: pg.PoolClient | undefined
  pool.on('connect', (made) => {
    client = made
  })
  const connected = pool.connect()
  await new Promise<void>((resolve) => pool.once('connect', () => resolve()))
  // Between the pool's own listener and the caller's there is no other.
  expect(client?.emit('error', new Error('terminating connection'))).toBe(true)
  ;(await connected).release(true)
})

test('PGlite is free again after a transaction that was given up before its turn', async () => {
  const db = await sharedPglite()
  const driver = fromPglite(db)
  const first = await driver.begin(new AbortController().signal)
  const late = new AbortController()
  const second = driver.begin(late.signal)
  second.catch(() => {})
  late.abort(new Error('nobody waits'))
  await first.commit()
  await expect(second).rejects.toThrow('nobody waits')
  expect(await db.query('select 1 as one')).toMatchObject({ rows: [{ one: 1 }] })
}, 10_000)

test('transactions of several handlers run beside each other', async () => {
  const { open } = schemaOn()
  const store = open({ listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  const txs = []
  for (let at = 0; at < 3; at++) {
    await store.insert(newEntry())
    const tx = await store.transaction?.(leaseOf(await claimOne(store)), 'h')
    if (!tx) throw new Error('the store has no transactions')
    await (tx.handle as pg.Pool).query('select 1')
    txs.push(tx)
  }
  expect(await Promise.all(txs.map((tx) => tx?.commit()))).toEqual([true, true, true])
})

test('a listener that was cut off listens again, and looks for what it missed', async () => {
  const { open, query, schema } = schemaOn()
  const store = open()
  let woken = 0
  await store.open(() => woken++)
  onTestFinished(() => store.close())
  await query('select pg_terminate_backend(pid) from pg_stat_activity where query = $1', [
    `listen "${schema}"`,
  ])
  await expect.poll(() => woken, { timeout: 5_000 }).toBeGreaterThan(0)
})

test.runIf(servers.bouncer)(
  'statements with names do not pass PgBouncer, those of the store do',
  async () => {
    const pool = poolOf(servers.bouncer)
    const unnamed = fromPg(pool)
    const named: PostgresDriver = {
      ...unnamed,
      query: async (text, values) => {
        const parameters = values.map((one) => (one instanceof Uint8Array ? Buffer.from(one) : one))
        const name = `idv ${text.length} ${text.slice(0, 40)}`
        return (await pool.query({ name, text, values: parameters })).rows
      },
    }
    const load = async (driver: PostgresDriver, rounds: number) => {
      const store = postgresStore(driver, { schema: freshSchema(), listen: false })
      await store.open(() => {})
      try {
        for (let round = 0; round < rounds; round++) {
          await Promise.all([
            store.insert(newEntry()),
            store.stats(0),
            store.find({ limit: 1 }),
            store.lapsed(0),
          ])
        }
      } finally {
        await store.close()
      }
    }
    await load(unnamed, 20)
    // Until two clients meet on one connection of the server.
    await expect(load(named, 2_000)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  },
)

test('a listener that cannot connect is tried by one at a time', async () => {
  const schema = freshSchema()
  let made = 0
  const listener = () => {
    made++
    const url = made === 1 ? servers.pg18 : 'postgres://postgres@127.0.0.1:1/postgres'
    return new pg.Client({ connectionString: url })
  }
  const store = postgresStore(fromPg(poolOf(), { listener }), { schema })
  await store.open(() => {})
  onTestFinished(() => store.close())
  await poolOf().query('select pg_terminate_backend(pid) from pg_stat_activity where query = $1', [
    `listen "${schema}"`,
  ])
  await expect.poll(() => made, { timeout: 10_000 }).toBeGreaterThan(2)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(made).toBeLessThan(8)
})
