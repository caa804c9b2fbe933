// A database in which another role may make operators and functions: before PostgreSQL 15 each may, in
// `public`. Where one fits better than that of Postgres it would run as the inbox.
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describeInboxStore } from 'idv-webhooks/conformance'
import { moveInbox } from 'idv-webhooks/inbox'
import {
  fromPg,
  type PostgresDriver,
  postgresSchema,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { newEntry } from '../../../tools/conformance/store-cases.ts'
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

/** What this file's connections sent. */
const sent = new Set<string>()
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
pg.Client.prototype.query = function recorded(this: pg.Client, ...args: unknown[]) {
  const given = args[0] as string | { readonly text?: string }
  sent.add(typeof given === 'string' ? given : (given.text ?? ''))
  return query.apply(this, args)
} as typeof pg.Client.prototype.query

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

test('a sequence that stands behind its entries is set in such a database', async () => {
  const name = freshSchema()
  const [before, after] = [open(name), open(name)]
  await before.open(() => {})
  for (let at = 0; at < 3; at++) await before.insert(newEntry())
  await before.close()
  const sequence = `"${name}".entries_seq_seq`
  await pool.query(`select pg_catalog.setval('${sequence}'::regclass, 1::bigint)`)
  await after.open(() => {})
  await after.insert(newEntry())
  expect(await after.find({ limit: 10 })).toHaveLength(4)
  await after.close()
})

test('no statement of the store means an operator or a function of another role, in no branch', async () => {
  const standby = fromPg(pool)
  const claiming: PostgresDriver = {
    ...standby,
    query: async (...asked) =>
      (await standby.query(...asked)).map((row) =>
        'fsync' in row ? { ...row, standbys: '*' } : row,
      ),
  }
  const store = postgresStore(claiming, { schema, survives: 'failover' })
  await expect(store.open(() => {})).rejects.toThrow('none is connected')
  const waits = 'select pg_catalog.pg_sleep(3::float8)'
  const few = new pg.Pool({ connectionString: url.href, max: 1 })
  const driver = fromPg(few)
  await driver.query(waits, [], AbortSignal.timeout(300)).catch(() => {})
  await expect(driver.query(waits, [], AbortSignal.timeout(1_000))).rejects.toThrow()
  await few.end()
  const isOfStore = (text: string) =>
    /^\s*(select|with|insert|update|delete)\b/i.test(text) &&
    !/\bforeign|numeric \* 2|json_agg\(1/.test(text)
  const texts = [...sent].filter(isOfStore)
  expect(texts.some((text) => text.includes('pg_stat_activity'))).toBe(true)
  expect(texts.some((text) => text.includes('pg_stat_replication'))).toBe(true)
  expect(texts.some((text) => text.includes('setval(s.name'))).toBe(true)
  const client = await pool.connect()
  const meant: string[] = []
  for (const [at, text] of texts.entries()) {
    const most = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
    const parameters = Array.from({ length: most }, () => 'text').join(', ')
    await client.query(
      `create function public.statement_${at}(${parameters}) returns void language sql begin atomic ${text}; end`,
    )
  }
  await client.query('set search_path = pg_catalog')
  const { rows } = await client.query(`select p.proname, d.refobjid, d.refclassid::regclass::text
    from pg_depend d join pg_proc p on p.oid = d.objid and d.classid = 'pg_proc'::regclass
    left join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
    left join pg_operator o on d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid
    where p.proname like 'statement\\_%'
      and 'public'::regnamespace in (f.pronamespace, o.oprnamespace)`)
  for (const { proname } of rows)
    meant.push(texts[Number(proname.slice('statement_'.length))] ?? '')
  client.release(true)
  expect(meant).toEqual([])
})
