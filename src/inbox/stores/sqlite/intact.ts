// Whether a file is whole, found out without changing it. The last connection that may write moves
// the log into the file when it closes, and deletes it: of a damaged file, or of a backup beside
// which the log of another file lies, that would take what could still be saved.
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { WebhookError } from '../../../errors.ts'
import { isFatal, type Open, type SqliteDatabase } from './driver.ts'

/** How much of the file is read at start: all of it and its indexes, or all but those. */
export type Check = 'integrity' | 'quick'

/**
 * Checks a file through a connection that cannot write; false where the driver has none, or where
 * the file cannot be read that way.
 *
 * @throws WebhookError `STORE_DAMAGED`; `STORE_UNSUITABLE` of another kind of file
 */
export function isCheckedUnchanged(path: string, open: Open, check: Check): boolean {
  const db = openReadOnly(path, open, (opened) => assertIntact(opened, path, check, true))
  db?.close()
  return db !== undefined
}

/**
 * Opens a file beside whose log nothing may change. Undefined where the log is empty, and where the
 * driver has no such connection.
 *
 * @throws WebhookError `STORE_DAMAGED`, `STORE_UNSUITABLE`
 */
export function openReader(path: string, open: Open): SqliteDatabase | undefined {
  // It has its lock on the file once it has read.
  const read = (db: SqliteDatabase) => void db.exec('select 1 from sqlite_schema')
  return hasLog(path) ? openReadOnly(path, open, read) : undefined
}

/** Whether closing the file could change it. */
export function hasLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
}

/** @throws WebhookError `STORE_DAMAGED` */
export function assertIntact(
  db: SqliteDatabase,
  path: string,
  check: Check,
  isUnchanged: boolean,
): void {
  const pragma = `${check}_check`
  const row = db.prepare(`pragma ${pragma}(1)`).get() as Readonly<Record<string, unknown>>
  if (Object.values(row)[0] !== 'ok') throw damaged(path, isUnchanged)
}

/** The error of a file that SQLite itself has refused. */
export function refusedFile(path: string, isUnchanged: boolean, cause: unknown): WebhookError {
  return isSqlite(path) ? damaged(path, isUnchanged, cause) : otherFile(path, cause)
}

/** It says that nothing was changed only where that is so. */
export function damaged(path: string, isUnchanged: boolean, cause?: unknown): WebhookError {
  const state = isUnchanged ? 'damaged and nothing was changed' : 'damaged'
  return new WebhookError(
    'STORE_DAMAGED',
    `the inbox ${path} is ${state}: keep a copy with its -wal file, then restore your backup, or save what can be read with: sqlite3 ${path} .recover | sqlite3 recovered.db`,
    { cause },
  )
}

function otherFile(path: string, cause: unknown): WebhookError {
  return new WebhookError(
    'STORE_UNSUITABLE',
    `${path} is not an SQLite file and was left unchanged: check the path; if it was an inbox, it was overwritten or encrypted, so restore your backup`,
    { cause },
  )
}

const header = 'SQLite format 3\0'

/** By its first bytes; it is read only when SQLite itself has refused it and let it go. */
function isSqlite(path: string): boolean {
  try {
    const file = openSync(path, 'r')
    const head = Buffer.alloc(header.length)
    readSync(file, head, 0, head.length, 0)
    closeSync(file)
    return head.toString('latin1') === header
  } catch {
    return true
  }
}

/** Whoever cannot read it that way finds out with a connection that writes. */
function openReadOnly(
  path: string,
  open: Open,
  read: (db: SqliteDatabase) => void,
): SqliteDatabase | undefined {
  let db: SqliteDatabase | undefined
  try {
    db = open.readOnly?.(path)
    db?.exec('pragma busy_timeout = 1000')
    if (db) read(db)
    return db
  } catch (error) {
    db?.close()
    if (error instanceof WebhookError) throw error
    if (isFatal(error)) throw refusedFile(path, true, error)
    return undefined
  }
}
