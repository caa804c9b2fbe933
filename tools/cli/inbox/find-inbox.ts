// Finds the inbox that a command works on, and opens it beside the application that owns it. A key
// comes from the environment, never from an argument.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Option } from 'commander'
import { createInbox, type Inbox, type InboxStore } from '../../../src/inbox/index.ts'
import type {
  PgPool,
  PostgresDriver,
  PostgresJs,
  PostgresJsConnection,
} from '../../../src/inbox/stores/postgres/postgres.ts'
import { isWebhookError } from '../../../src/index.ts'
import { CliError, exitCodes, usageError } from '../exit-code.ts'
import { holdsPassword } from '../output.ts'
import type { Session } from '../session.ts'

export interface InboxChoice {
  readonly inbox?: string
}

export const inboxOption = () =>
  new Option(
    '--inbox <file>',
    'the inbox: a SQLite file, postgres://…, or env:NAME of a variable that holds one (default: IDV_INBOX, else `inbox` of the config file)',
  )

export interface FoundInbox {
  readonly inbox: Inbox
  /** Where the inbox is, for people: its file, or the config file that creates it. */
  readonly where: string
  readonly file?: string
  /** True if the inbox has a key; only known if the command line created the inbox. */
  readonly encrypted?: boolean
}

interface InboxOpening extends InboxChoice {
  /** `owner` can add entries, and needs the application to be stopped; `operator` is the default. */
  readonly mode?: 'owner' | 'operator'
  /** True if the whole file is read and checked, as when the application starts. */
  readonly isChecked?: boolean
}

export async function findInbox(session: Session, opening: InboxOpening) {
  const { config, cwd } = session
  const { mode = 'operator' } = opening
  const given = opening.inbox ?? config.values.inbox
  if (isInbox(given)) return { inbox: given, where: 'the inbox of the config file' }
  if (typeof given !== 'string') return undefined
  const path = fromVariable(session, given)
  if (isPostgresUrl(path)) {
    const store = await postgresStoreAt(path, { cwd, mode })
    return { ...madeInbox(session, store), where: shownUrl(path) }
  }
  const file = resolve(cwd, path)
  // Everything is missing from a new inbox, so a typo would add everything to it.
  if (mode === 'owner' && !existsSync(file)) {
    const fix = 'check the path, or start the application once, which creates it'
    throw new CliError('INBOX_MISSING', `the inbox ${path} does not exist: ${fix}`)
  }
  const { sqliteStore } = await import('../../../src/inbox/stores/sqlite/sqlite.ts')
  const store = sqliteStore(file, { mode, ...(opening.isChecked && { check: 'integrity' }) })
  return { ...madeInbox(session, store), where: path, file }
}

/** The variable may hold several keys: new,old. */
function madeInbox({ env }: Session, store: InboxStore) {
  const [key, ...previous] = (env.IDV_INBOX_KEY ?? '').split(',').map((one) => one.trim())
  const inbox = createInbox({ store, ...(key && { encryption: { key, previous } }) })
  return { inbox, encrypted: Boolean(key) }
}

function isInbox(given: unknown): given is Inbox {
  return (
    typeof (given as Partial<Inbox> | undefined)?.find === 'function' && 'redrive' in Object(given)
  )
}

export async function withInbox<Result>(
  session: Session,
  opening: InboxOpening,
  work: (found: FoundInbox) => Promise<Result>,
): Promise<Result> {
  const found = await findInbox(session, opening)
  if (!found) {
    throw usageError(
      'no inbox given: pass --inbox <file>, or set IDV_INBOX to a file or postgres://…',
    )
  }
  await openFound(session, found)
  try {
    return await work(found)
  } finally {
    await found.inbox.close()
  }
}

export async function openFound(session: Session, { inbox, file }: FoundInbox): Promise<void> {
  try {
    await inbox.open()
  } catch (error) {
    if (!isWebhookError(error)) throw error
    const { code, reason } = error
    if (code !== 'STORE_SEALED' && file !== undefined && !existsSync(file)) {
      throw new CliError('INBOX_MISSING', reason)
    }
    if (code !== 'STORE_OWNED') throw storeError(session, error)
    // A file that the command line opens itself can be opened beside its owner.
    const way = `; to work beside it, pass --inbox <file>, or use sqliteStore(file, { mode: 'operator' }) in the config file`
    const message = file === undefined ? `${reason}${way}` : reason
    throw new CliError('INBOX_OWNED', message, exitCodes.failed)
  }
}

/** Turns a store's error into one for the person at the terminal. */
export function storeError({ env }: Session, error: unknown): unknown {
  if (!isWebhookError(error)) return error
  if (error.code !== 'STORE_SEALED') return CliError.from(error, { exitCode: exitCodes.failed })
  const why = env.IDV_INBOX_KEY
    ? 'IDV_INBOX_KEY is not the key of this inbox: use the key of the application (new,old during rotation)'
    : 'the inbox is encrypted: set IDV_INBOX_KEY'
  return new CliError('INBOX_SEALED', why)
}

export const isPostgresUrl = (text: string): boolean => /^postgres(ql)?:\/\//i.test(text)

/** A refused value is not repeated: it may hold a password, or be the variable of a secret. */
export function fromVariable({ env, cwd }: Pick<Session, 'env' | 'cwd'>, text: string): string {
  const name = /^env:(\w+)$/.exec(text)?.[1]
  const value = name === undefined ? text : env[name]
  if (!value) {
    throw usageError(`the variable ${name} is not set: it should name the inbox`)
  }
  if (isPostgresUrl(value)) return value
  if (/:\/\/|^\W*postgres(ql)?:/i.test(value) || holdsPassword(value)) {
    throw usageError(
      'an inbox is an SQLite file or postgres://user:password@host:5432/database, without quotes or white space around it',
    )
  }
  if (name === undefined || /\.\w+$/.test(value) || existsSync(resolve(cwd, value))) return value
  const message = `the variable ${name} holds neither an address postgres://… nor the path of a file`
  throw usageError(message)
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
    throw usageError(
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
