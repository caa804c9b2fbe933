// Whose the schema is: the owner of one could change what runs as the inbox.
import {
  fromPg,
  type PostgresDriver,
  type PostgresStoreOptions,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { schemaSql } from '../../../src/inbox/stores/postgres/migrations.ts'
import { newEntry } from '../../../tools/conformance/store-cases.ts'
import { freshSchema, poolOf, servers } from './servers.ts'

const unsuitable = (message: RegExp) =>
  expect.objectContaining({ code: 'STORE_UNSUITABLE', message: expect.stringMatching(message) })

function poolAs(user: string): pg.Pool {
  const url = new URL(servers.pg18)
  url.username = user
  const pool = new pg.Pool({ connectionString: url.href, max: 4 })
  onTestFinished(() => pool.end())
  return pool
}

/** The schema of a neighbour, and stores of another role, who may both make schemas. */
async function neighbours() {
  const schema = freshSchema()
  const [app, other] = [`app_${schema}`, `other_${schema}`]
  const { rows } = await poolOf().query('select current_database() as name')
  for (const role of [app, other]) {
    await poolOf().query(`create role ${role} login;
      grant create on database ${rows[0].name} to ${role}`)
  }
  const asOther = poolAs(other)
  const store = (options: PostgresStoreOptions = {}) =>
    postgresStore(fromPg(poolAs(app)), { schema, listen: false, ...options })
  const open = async (options: PostgresStoreOptions = {}) => {
    const opening = store(options)
    await opening.open(() => {})
    await opening.close()
  }
  return { schema, app, other, asOther, open }
}

test('a schema is refused where another role made it first, whatever stands in it', async () => {
  const { schema, app, other, asOther, open } = await neighbours()
  await asOther.query(`create schema ${schema}; grant all on schema ${schema} to ${app}`)
  const belongs = unsuitable(new RegExp(`belongs to another role, ${other},`))
  await expect(open()).rejects.toEqual(belongs)
  // A look at it runs what it likes.
  await asOther.query(`create function ${schema}.runs() returns int language plpgsql
      as 'begin raise exception ''it ran''; end';
    create view ${schema}.versions as select ${schema}.runs() as version, 1 as compatible;
    grant select on ${schema}.versions to ${app}`)
  await expect(open()).rejects.toEqual(belongs)
  await expect(poolOf().query(schemaSql(schema))).rejects.toThrow('belongs to another role')
})

test('a schema is refused where another role makes it while this one looks', async () => {
  const { schema, app, asOther } = await neighbours()
  const driver = fromPg(poolAs(app))
  const late: PostgresDriver = {
    ...driver,
    begin: async (signal) => {
      await asOther.query(`create schema ${schema}; grant all on schema ${schema} to ${app}`)
      return driver.begin(signal)
    },
  }
  const store = postgresStore(late, { schema, listen: false })
  await expect(store.open(() => {})).rejects.toEqual(unsuitable(/belongs to another role/))
})

test('a schema is refused where another role makes it just before this one does', async () => {
  const { schema, app, asOther } = await neighbours()
  const driver = fromPg(poolAs(app))
  const late: PostgresDriver = {
    ...driver,
    begin: async (signal) => {
      const tx = await driver.begin(signal)
      const query: typeof tx.query = async (sql, values) => {
        if (sql.startsWith('create schema')) {
          await asOther.query(`create schema ${schema}; grant all on schema ${schema} to ${app};
            create function ${schema}.runs() returns int language plpgsql
              as 'begin raise exception ''it ran''; end';
            create view ${schema}.versions as select ${schema}.runs() as version, 1 as compatible;
            grant select on ${schema}.versions to ${app}`)
        }
        return tx.query(sql, values)
      }
      return Object.assign(Object.create(tx), { query })
    },
  }
  const store = postgresStore(late, { schema, listen: false })
  await expect(store.open(() => {})).rejects.toEqual(unsuitable(/belongs to another role/))
})

test('a schema is taken where migrate: false says that one role has made all of it', async () => {
  const { schema, app, other, asOther, open } = await neighbours()
  await asOther.query(schemaSql(schema))
  await asOther.query(`grant usage on schema ${schema} to ${app};
    grant select, insert, update, delete on all tables in schema ${schema} to ${app}`)
  await expect(open()).rejects.toEqual(unsuitable(/set migrate: false/))
  await open({ migrate: false })
  await poolOf().query(`alter function ${schema}.fold_1() owner to ${app}`)
  await expect(open({ migrate: false })).rejects.toEqual(unsuitable(/let one role own all of it/))
  await poolOf().query(`alter schema ${schema} owner to ${app}`)
  await expect(open()).rejects.toEqual(unsuitable(/let one role own all of it/))
  await poolOf().query(`reassign owned by ${other} to ${app}`)
  await open()
})

test('a schema is refused where another role has put a function with other parameters beside', async () => {
  const { schema, other, asOther, open } = await neighbours()
  await open()
  await poolOf().query(`grant usage, create on schema ${schema} to ${other}`)
  await asOther.query(`create function ${schema}.keep_1(text, text) returns int language sql
    as 'select 1'`)
  await expect(open()).rejects.toEqual(unsuitable(/let one role own all of it/))
  await asOther.query(`drop function ${schema}.keep_1(text, text)`)
  await open()
  await poolOf().query(`grant create on schema ${schema} to public`)
  await expect(open()).rejects.toEqual(unsuitable(/revoke create on schema/))
})

test('a superuser runs nothing that the role of the application could replace', async () => {
  const { schema, app, open } = await neighbours()
  await open()
  for (const options of [{ mode: 'operator' }, { migrate: false }] as const) {
    const store = postgresStore(fromPg(poolOf()), { schema, listen: false, ...options })
    await expect(store.open(() => {})).rejects.toEqual(
      unsuitable(new RegExp(`connect as ${app}, or as the role of the application`)),
    )
  }
  const own = postgresStore(fromPg(poolAs(app)), { schema, mode: 'operator' })
  await own.open(() => {})
  await own.close()
})

test('who may only read can look, and says nothing of who is alive', async () => {
  const { schema, app, other } = await neighbours()
  const store = postgresStore(fromPg(poolAs(app)), { schema, listen: false })
  await store.open(() => {})
  await store.insert(newEntry())
  await poolOf().query(`grant usage on schema ${schema} to ${other};
    grant select on all tables in schema ${schema} to ${other}`)
  const owners = async () =>
    (await poolOf().query(`select count(*)::int as n from ${schema}.owners`)).rows[0].n
  const before = await owners()
  const looking = postgresStore(fromPg(poolAs(other)), { schema, mode: 'operator' })
  await looking.open(() => {})
  expect(await looking.find({ limit: 10 })).toHaveLength(1)
  expect((await looking.stats(Date.now())).counts.stored).toBe(1)
  expect(Math.abs((looking.now?.() ?? new Date(0)).getTime() - Date.now())).toBeLessThan(5_000)
  expect(await owners()).toBe(before)
  await looking.close()
  await store.close()
})
