// Opens an inbox in Postgres by its address, with the driver that the user has installed. Addresses
// hold passwords: they come from the environment and are shown without them.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { InboxStore } from '../../../src/inbox/index.ts'
import type {
  PgPool,
  PostgresDriver,
  PostgresJs,
  PostgresJsConnection,
} from '../../../src/inbox/stores/postgres/postgres.ts'
import { CliError } from '../exit-code.ts'
import { holdsPassword } from '../output.ts'
import type { Session } from '../session.ts'

export const isPostgresUrl = (text: string): boolean => /^postgres(ql)?:\/\//i.test(text)

/** A refused value is not repeated: it may hold a password, or be the variable of a secret. */
export function fromVariable({ env, cwd }: Pick<Session, 'env' | 'cwd'>, text: string): string {
  const name = /^env:(\w+)$/.exec(text)?.[1]
  const value = name === undefined ? text : env[name]
  if (!value) {
    throw new CliError('USAGE', `the variable ${name} is not set: it should name the inbox`)
  }
  if (isPostgresUrl(value)) return value
  if (/:\/\/|^\W*postgres(ql)?:/i.test(value) || holdsPassword(value)) {
    throw new CliError(
      'USAGE',
      'an inbox is an SQLite file or postgres://user:password@host:5432/database, without quotes or white space around it',
    )
  }
  if (name === undefined || /\.\w+$/.test(value) || existsSync(resolve(cwd, value))) return value
  const message = `the variable ${name} holds neither an address postgres://… nor the path of a file`
  throw new CliError('USAGE', message)
}

export function shownUrl(text: string): string {
  const url = parsed(text)
  return url ? `postgres://${url.host}${url.pathname}` : 'postgres://…'
}

/** Undefined for an @ behind the host: an unescaped @ or / of a password shifts every part. */
function parsed(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const [firstName = ''] = url.search.split('=', 1)
  return `${url.pathname}${url.hash}${firstName}`.includes('@') ? undefined : url
}

interface PostgresOpening {
  readonly cwd: string
  readonly migrate?: boolean
  readonly mode?: 'owner' | 'operator'
}

/** An operator's command does not make the schema; a move does. */
export async function postgresStoreAt(
  url: string,
  { cwd, migrate = false, mode = 'owner' }: PostgresOpening,
): Promise<InboxStore> {
  const { postgresStore } = await import('../../../src/inbox/stores/postgres/postgres.ts')
  return postgresStore(await driverAt(url, cwd), { listen: false, migrate, mode })
}

async function driverAt(url: string, cwd: string): Promise<PostgresDriver> {
  if (!parsed(url)) {
    throw new CliError(
      'USAGE',
      'the address of the inbox must be like postgres://user@host:5432/database, with special characters of its password percent-encoded',
    )
  }
  const { fromPg, fromPostgresJs } = await import('../../../src/inbox/stores/postgres/postgres.ts')
  const pg = await installed(cwd, 'pg')
  if (pg) {
    const { Pool } = pg as { readonly Pool: new (options: object) => PgPool }
    const limits = { max: 4, connectionTimeoutMillis: 5_000, allowExitOnIdle: true }
    return fromPg(new Pool({ connectionString: url, ...limits }))
  }
  const connect = await installed(cwd, 'postgres')
  if (typeof connect === 'function') {
    const limits = { max: 4, connect_timeout: 5, idle_timeout: 1, onnotice: () => {} }
    const sql: PostgresJs<PostgresJsConnection> = connect(url, limits)
    return fromPostgresJs(sql)
  }
  throw new CliError(
    'DRIVER_MISSING',
    'an inbox in Postgres needs a driver: run npm install pg (or postgres) in this project',
  )
}

/** The default export of a package in the user's project; undefined if it is not installed. */
async function installed(cwd: string, name: string): Promise<unknown> {
  let file: string
  try {
    file = createRequire(join(cwd, 'package.json')).resolve(name)
  } catch {
    return undefined
  }
  const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
  return module.default ?? module
}
