import { PGlite } from '@electric-sql/pglite'
import { describeInboxStore } from 'idv-webhooks/conformance'
import type { InboxStore } from 'idv-webhooks/inbox'
import { fromPg, fromPglite, fromPostgresJs, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, describe, test } from 'vitest'
import { isFull, someCases } from '../../tier.ts'
import { emptySql, freshSchema, poolOf, schemaOn, servers } from './servers.ts'

/** One schema for all cases, emptied before each. */
function under(open: () => InboxStore, empty: () => Promise<unknown>, runner = someCases()) {
  let isMade = false
  const create = async () => {
    if (isMade) await empty()
    isMade = true
    return open()
  }
  return { create, reopen: open, beside: open, runner }
}

function on(url: string, runner = someCases()) {
  const { schema, open } = schemaOn(url)
  return under(open, () => poolOf(url).query(emptySql(schema)), runner)
}

// The main engine runs all its cases in `npm test`.
if (!isFull) describeInboxStore('PostgreSQL 18', on(servers.pg18, { describe, test }))
if (servers.pg15) describeInboxStore('PostgreSQL 15', on(servers.pg15))
if (servers.bouncer) describeInboxStore('PgBouncer in transaction mode', on(servers.bouncer))

// Settings of a role or a server, turned away from what they are by default.
const unusual = [
  'standard_conforming_strings=off',
  'transform_null_equals=on',
  'array_nulls=off',
  'bytea_output=escape',
  'DateStyle=SQL,DMY',
  'TimeZone=Asia/Kathmandu',
  'extra_float_digits=-15',
  'search_path=',
  'row_security=off',
  'plpgsql.extra_errors=all',
  'plpgsql.variable_conflict=use_column',
  'plan_cache_mode=force_generic_plan',
  'enable_indexscan=off',
  'session_replication_role=replica',
]
const pool = new pg.Pool({
  connectionString: servers.pg18,
  max: 8,
  options: unusual.map((one) => `-c ${one}`).join(' '),
})
afterAll(() => pool.end())
const byUnusual = freshSchema()
describeInboxStore(
  'PostgreSQL 18 with unusual settings',
  under(
    () => postgresStore(fromPg(pool), { schema: byUnusual }),
    () => pool.query(emptySql(byUnusual)),
  ),
)

const sql = postgres(servers.pg18, { max: 8, onnotice: () => {} })
afterAll(() => sql.end())
const byPostgresJs = freshSchema()
describeInboxStore(
  'postgres.js',
  under(
    () => postgresStore(fromPostgresJs(sql), { schema: byPostgresJs }),
    () => sql.unsafe(emptySql(byPostgresJs)),
  ),
)

// Its start keeps the processor for seconds, in which no other test here would hear a server.
const db = await PGlite.create()
afterAll(() => db.close())
describeInboxStore(
  'PGlite',
  under(
    () => postgresStore(fromPglite(db)),
    () => db.exec(emptySql('idv_inbox')),
  ),
)
