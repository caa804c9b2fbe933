// An inbox in Postgres, by its address: the driver is the one that the user has installed.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { InboxStore } from '../../inbox/index.ts'
import {
  fromPg,
  fromPostgresJs,
  type PgPool,
  type PostgresJs,
  type PostgresJsConnection,
  postgresStore,
} from '../../inbox/stores/postgres/postgres.ts'
import { CliError } from '../exit-code.ts'

/** Whether an inbox is named by the address of a database, not by a file. */
export const isPostgresUrl = (text: string): boolean => /^postgres(ql)?:\/\//.test(text)

/** The address as it may be shown: without its password. */
export function shownUrl(text: string): string {
  const url = new URL(text)
  url.password = ''
  return url.href
}

/**
 * The store at an address. Its schema must be there: an operator's command does not make it.
 *
 * @throws CliError `DRIVER_MISSING`
 */
export async function postgresStoreAt(url: string, cwd: string): Promise<InboxStore> {
  const options = { listen: false, migrate: false }
  const pg = await installed(cwd, 'pg')
  if (pg) {
    const { Pool } = pg as { readonly Pool: new (options: object) => PgPool }
    const limits = { max: 4, connectionTimeoutMillis: 5_000, allowExitOnIdle: true }
    return postgresStore(fromPg(new Pool({ connectionString: url, ...limits })), options)
  }
  const connect = await installed(cwd, 'postgres')
  if (typeof connect === 'function') {
    const limits = { max: 4, connect_timeout: 5, idle_timeout: 1 }
    const sql: PostgresJs<PostgresJsConnection> = connect(url, limits)
    return postgresStore(fromPostgresJs(sql), options)
  }
  throw new CliError(
    'DRIVER_MISSING',
    'an inbox in Postgres needs a driver: npm install pg (or postgres) in this project',
  )
}

/** What a package of the user's project exports by default. */
async function installed(cwd: string, name: string): Promise<unknown> {
  try {
    const file = createRequire(join(cwd, 'package.json')).resolve(name)
    const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
    return module.default ?? module
  } catch {
    return undefined
  }
}
