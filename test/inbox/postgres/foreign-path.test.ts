// A database in which another role may make operators and functions: before PostgreSQL 15 each may, in
// `public`. Where one fits better than that of Postgres it would run as the inbox.
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { moveInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresSchema, postgresStore } from 'idv-webhooks/inbox/postgres'
import { describeInboxStore } from 'idv-webhooks/testing'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { newEntry } from '../../../src/testing/store-cases.ts'
import { emptySql, freshSchema, poolOf, servers } from './servers.ts'

const folder = resolve(import.meta.dirname, '../../../src/inbox/stores/postgres')
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(resolve(folder, file), 'utf8'))

/** Each operator, and each function that the sources could mean, for all types that have none of their own. */
const foreign = `
do $poison$
declare
  types text[] := '{bool,int2,int4,int8,numeric,float8,text,name,bytea,json,jsonb,interval,timestamptz,regclass,oid,"text[]","int4[]"}';
  few text[] := '{bool,int4,int8,numeric,float8,text,name,bytea,json,"text[]"}';
  a text; b text; op text; f text;
begin
  foreach a in array types loop
    foreach b in array types loop
      execute format($f$create function public.foreign(%s, %s) returns boolean language plpgsql
        as 'begin raise exception ''foreign operator for %s and %s''; end'$f$, a, b, a, b);
      foreach op in array '{+,-,*,/,%,||,=,<>,<,>,<=,>=}'::text[] loop
        if to_regoperator(format('pg_catalog.%s(%s,%s)', op, a, b)) is null then
          execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.foreign)', op, a, b);
        end if;
      end loop;
    end loop;
  end loop;
  for f in select distinct proname from pg_catalog.pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and proname = any (string_to_array('NAMES', ',')) loop
    foreach a in array few loop
      if to_regprocedure(format('pg_catalog.%I(%s)', f, a)) is null then
        execute format($f$create function public.%I(%s) returns text language plpgsql
          as 'begin raise exception ''foreign function %s''; end'$f$, f, a, f);
      end if;
      foreach b in array few loop
        if to_regprocedure(format('pg_catalog.%I(%s,%s)', f, a, b)) is null then
          execute format($f$create function public.%I(%s, %s) returns text language plpgsql
            as 'begin raise exception ''foreign function %s''; end'$f$, f, a, b, f);
        end if;
      end loop;
    end loop;
  end loop;
end $poison$`

const database = `foreign_${freshSchema()}`
await poolOf().query(`create database ${database}`)
const url = new URL(servers.pg18)
url.pathname = `/${database}`
const pool = new pg.Pool({ connectionString: url.href, max: 8 })
afterAll(() => pool.end())
const words = new Set(sources.flatMap((text) => text.match(/[a-z_]+(?=\()/g) ?? []))
await pool.query(foreign.replace('NAMES', [...words].join(',')))

const schema = freshSchema()
const open = (name = schema) => postgresStore(fromPg(pool), { schema: name })
let isMade = false
describeInboxStore('PostgreSQL 18 with operators of another role', {
  create: async () => {
    if (isMade) await pool.query(emptySql(schema))
    isMade = true
    return open()
  },
  reopen: open,
  beside: open,
  runner: { describe, test },
})

test('the operators of another role are taken where nothing says otherwise', async () => {
  await expect(pool.query('select 1::numeric * 2')).rejects.toThrow('foreign operator')
  await expect(pool.query('select json_agg(1::int8)')).rejects.toThrow('foreign function')
})

test('an inbox moves into such a database and out of it, and is searched there', async () => {
  const [first, to, last] = [freshSchema(), freshSchema(), freshSchema()]
  const from = open(first)
  await from.open(() => {})
  await from.insert(newEntry())
  await from.close()
  await moveInbox(open(first), open(to))
  await moveInbox(open(to), open(last))
  const store = open(last)
  await store.open(() => {})
  const query = { limit: 10, tenant: 'acme', text: { part: 'a', keys: ['a'] }, since: 0 }
  await store.find({ ...query, ids: ['a'], states: ['stored'], name: 'a', lane: 'a', after: 'a' })
  expect(await store.find({ limit: 10 })).toHaveLength(1)
  const latency = { since: 0, limit: 10, target: 1 }
  expect((await store.stats(Date.now(), latency)).counts.stored).toBe(1)
  await store.close()
})

test('the SQL of the schema is run by another in such a database', async () => {
  const name = freshSchema()
  await pool.query(postgresSchema({ schema: name }))
  const store = postgresStore(fromPg(pool), { schema: name, migrate: false })
  await store.open(() => {})
  await store.insert(newEntry())
  await store.close()
})

test('each function of the schema has a path of its own; a procedure that commits cannot', async () => {
  await open().open(() => {})
  const sql = `select p.proname from pg_proc p join pg_namespace n on n.oid operator(pg_catalog.=) p.pronamespace
    where n.nspname::text = $1 and p.prokind = 'f'::"char"
    and not coalesce('search_path=pg_catalog, pg_temp'::text = any (p.proconfig), false)`
  expect((await pool.query(sql, [schema])).rows).toEqual([])
})
