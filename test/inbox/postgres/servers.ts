// The servers that the set-up has started, and stores in schemas of their own on them.
import { randomBytes } from 'node:crypto'
import {
  fromPg,
  type PostgresDriver,
  type PostgresStoreOptions,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import pg from 'pg'

/** Addresses, of those engines that are here. */
export interface Servers {
  readonly pg18: string
  readonly pg15?: string
  readonly bouncer?: string
}

export const servers: Servers = JSON.parse(process.env.POSTGRES_SERVERS_OF_TESTS ?? '{}')

/** A name that no other test has. */
export const freshSchema = () => `idv_${randomBytes(6).toString('hex')}`

const pools = new Map<string, pg.Pool>()

/** One pool for each server and test file; it lives as long as the process. */
export function poolOf(url: string = servers.pg18): pg.Pool {
  const known = pools.get(url)
  if (known) return known
  const pool = new pg.Pool({
    connectionString: url,
    max: 12,
    connectionTimeoutMillis: 5_000,
    allowExitOnIdle: true,
  })
  pools.set(url, pool)
  return pool
}

/** A driver through PgBouncer listens past it. */
function driverTo(url: string): PostgresDriver<unknown> {
  const pool = poolOf(url)
  if (url !== servers.bouncer) return fromPg(pool)
  return fromPg(pool, { listener: () => new pg.Client({ connectionString: servers.pg18 }) })
}

/** Makes stores over one schema: a second one stands for a second process. */
export function schemaOn(url: string = servers.pg18, given: PostgresStoreOptions = {}) {
  const schema = freshSchema()
  const open = (options: PostgresStoreOptions = {}) =>
    postgresStore(driverTo(url), { schema, ...given, ...options })
  const query = async (sql: string, values: unknown[] = []) =>
    (await poolOf(url).query(sql.replaceAll(/\bidv\./g, `"${schema}".`), values)).rows
  return { schema, open, query }
}

const tables = 'entries contents handled keys lanes marks relations counts owners settings'

/** Empties the tables of an inbox: quicker than making new ones. */
export const emptySql = (schema: string) =>
  tables
    .split(' ')
    .map((table) => `delete from "${schema}".${table}`)
    .join('; ')
