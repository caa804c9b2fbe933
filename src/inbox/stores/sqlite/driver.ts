// The part of a SQLite library that the store uses: node:sqlite by default, or better-sqlite3 or
// another library of this shape.
import { existsSync, realpathSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { WebhookError } from '../../../errors.ts'

export type SqliteValue = null | number | bigint | string | Uint8Array

export interface SqliteStatement<Row = unknown> {
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
  get(...values: SqliteValue[]): Row | undefined
  all(...values: SqliteValue[]): Row[]
}

/** An open database: what `node:sqlite` and `better-sqlite3` have in common. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
  /** node:sqlite's name for being inside a transaction, and better-sqlite3's. */
  readonly isTransaction?: boolean
  readonly inTransaction?: boolean
}

/**
 * The name or path of a module whose default export opens a database by `new Database(file)`, or a
 * function that opens one, which then works on the calling thread.
 */
export type SqliteDriver = string | ((file: string) => SqliteDatabase)

export interface OpenDatabase {
  (file: string): SqliteDatabase
  /**
   * Opens it read-only, so that its close leaves the log in its place. Returns undefined if the
   * library cannot; a driver that is a function has no such method.
   */
  readonly readOnly?: (file: string) => SqliteDatabase | undefined
}

type DatabaseClass = new (
  file: string,
  options?: { readonly readonly: true },
) => SqliteDatabase & { readonly readonly?: boolean }

/**
 * Resolves a driver to the path of its module, which every thread loads alike: from the program
 * that runs, or from the working directory. A relative path starts at the working directory.
 *
 * @throws WebhookError `OPTION_INVALID` if it is found from neither, `RUNTIME_UNSUPPORTED`
 */
export function locateDriver(driver: SqliteDriver = 'node:sqlite'): SqliteDriver {
  if (typeof driver === 'function' || isAbsolute(driver)) return driver
  // Bundlers would look for the module in an imported createRequire.
  const { createRequire, isBuiltin } = process.getBuiltinModule('node:module')
  if (isBuiltin(driver)) return driver
  if (driver === 'node:sqlite') {
    const message = `Node ${process.versions.node} has no node:sqlite: remove --no-experimental-sqlite (also from NODE_OPTIONS), or pass { driver: 'better-sqlite3' }`
    throw new WebhookError('RUNTIME_UNSUPPORTED', message)
  }
  const program = process.argv[1] ?? ''
  const isFile = isAbsolute(program) && !driver.startsWith('.') && existsSync(program)
  const folder = process.cwd()
  let cause: unknown
  for (const place of [
    ...(isFile ? [program, realpathSync(program)] : []),
    join(folder, 'package.json'),
  ]) {
    try {
      return createRequire(place).resolve(driver)
    } catch (error) {
      cause = error
    }
  }
  const from = `${isFile ? `the program ${program} or ` : ''}the working directory ${folder}`
  const message = `the SQLite driver '${driver}' was not found from ${from}: install it there, or pass the path of its module`
  throw new WebhookError('OPTION_INVALID', message, { cause })
}

/** @throws WebhookError `OPTION_INVALID` if the module does not load or is not a driver */
export function loadDriver(driver: SqliteDriver = 'node:sqlite'): OpenDatabase {
  if (typeof driver === 'function') return driver
  if (driver === 'node:sqlite') {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    const open = (file: string, options = {}) =>
      new DatabaseSync(file, options) as unknown as SqliteDatabase
    return opener(open, (file) => open(file, { readOnly: true }))
  }
  const Database = databaseClass(driver)
  const readOnly = (file: string) => {
    const db = new Database(file, { readonly: true })
    if (db.readonly === true) return db
    // The library ignored the option. Nothing was read yet, so this close writes nothing.
    db.close()
    return undefined
  }
  return opener((file) => new Database(file), readOnly)
}

function opener(
  open: (file: string) => SqliteDatabase,
  readOnly: OpenDatabase['readOnly'],
): OpenDatabase {
  return Object.assign((file: string) => open(file), { readOnly })
}

function databaseClass(name: string): DatabaseClass {
  let loaded: unknown
  try {
    const { createRequire } = process.getBuiltinModule('node:module')
    loaded = createRequire(join(process.cwd(), 'package.json'))(name)
  } catch (cause) {
    const message = `the SQLite driver '${name}' cannot be loaded: see the cause, and reinstall it for this version of Node`
    throw new WebhookError('OPTION_INVALID', message, { cause })
  }
  const found = (loaded as { default?: unknown } | null)?.default ?? loaded
  if (typeof found === 'function') return found as DatabaseClass
  throw new WebhookError('OPTION_INVALID', `'${name}' must export a class, as better-sqlite3 does`)
}

/** Tells whether a transaction is open; a failed commit has closed it already. */
export function inTransaction(db: SqliteDatabase): boolean {
  return (db.isTransaction ?? db.inTransaction) === true
}

export function transact<Result>(
  db: SqliteDatabase,
  work: () => Result,
  begin: 'begin' | 'begin immediate' = 'begin immediate',
): Result {
  db.exec(begin)
  try {
    const result = work()
    db.exec('commit')
    return result
  } catch (error) {
    // A commit that failed has rolled back by itself; a second rollback would hide its error.
    if (inTransaction(db)) db.exec('rollback')
    throw error
  }
}

/** Codes by SQLite's message: some runtimes' `exec` gives errors without a code of SQLite. */
const codeOfWords: readonly (readonly [words: string, code: number])[] = [
  ['database is locked', 5],
  ['database disk image is malformed', 11],
  ['file is not a database', 26],
  // It may be a failed sync.
  ['disk I/O error', 1034],
]

/** Reads SQLite's extended result code from the error of any driver. */
function resultCode(error: unknown): number | string | undefined {
  const { errcode, code, message } = (error ?? {}) as Readonly<Record<string, unknown>>
  if (typeof errcode === 'number') return errcode
  if (typeof code === 'string' && code.startsWith('SQLITE_')) return code
  if (code !== 'ERR_SQLITE_ERROR') return undefined
  return codeOfWords.find(([words]) => String(message).includes(words))?.[1]
}

/** After a failed fsync the content of the disk is unknown; opening the file writes the log again. */
const unsynced: readonly unknown[] = [1034, 'SQLITE_IOERR_FSYNC', 1290, 'SQLITE_IOERR_DIR_FSYNC']

/** Tells whether nothing more may be written before a restart. */
export function isFatal(error: unknown): boolean {
  return isDamage(error) || unsynced.includes(resultCode(error))
}

export function isDamage(error: unknown): boolean {
  return isOtherFile(error) || isResult(error, 11, 'SQLITE_CORRUPT')
}

export function isOtherFile(error: unknown): boolean {
  return isResult(error, 26, 'SQLITE_NOTADB')
}

/** Tells whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return isResult(error, 5, 'SQLITE_BUSY')
}

function isResult(error: unknown, primary: number, name: string): boolean {
  const code = resultCode(error)
  return typeof code === 'number' ? (code & 0xff) === primary : code?.startsWith(name) === true
}

export type PrepareSql = <Row = never>(text: string) => SqliteStatement<Row>

/** Prepares each statement of a connection at its first use. */
export function preparing(db: SqliteDatabase): PrepareSql {
  const known = new Map<string, SqliteStatement>()
  return <Row>(text: string) => {
    const statement = known.get(text) ?? db.prepare(text)
    known.set(text, statement)
    // Trust is granted here: the statement selects the columns of its row.
    return statement as SqliteStatement<Row>
  }
}

/** Prepares a statement for one use, because its text depends on the query. */
export function prepared<Row = never>(db: SqliteDatabase, text: string): SqliteStatement<Row> {
  return db.prepare(text) as SqliteStatement<Row>
}
