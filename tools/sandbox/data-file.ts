// The sandbox's state in a SQLite file: one row per record, only changed rows are written, each
// transaction before its answer. One process at a time; files of other applications stay untouched.
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isWebhookError, WebhookError } from '../../src/errors.ts'
import { damaged } from './damaged.ts'
import type { Change, ChangeSink } from './journal.ts'

/** A row of the file. */
export interface FileRow {
  readonly kind: string
  readonly id: string
  readonly value: unknown
}

export interface DataFile extends ChangeSink, ReadableFile {
  close(): void
}

export interface ReadableFile {
  readonly path: string
  /**
   * Everything in the file; empty for a new one.
   *
   * @throws WebhookError `DATA_FILE_FAILED` with the row that cannot be read
   */
  read(): readonly FileRow[]
}

const format = 2
/** Marks a file as a sandbox's: 'IDVS'. */
const applicationId = 0x49445653

/**
 * Opens a file, and creates it when it is missing or empty; only its owner may read it. What `check`
 * refuses is read before, by a connection that leaves the log where it is.
 *
 * @throws WebhookError `DATA_FILE_FAILED` when it cannot be opened, is in use or is not a sandbox's;
 * nothing in it is touched then
 */
export function openDataFile(path: string, check: (file: ReadableFile) => unknown): DataFile {
  let db: DatabaseSync | undefined
  try {
    const isNew = refuseForeign(path)
    if (!isNew) checkUnchanged(path, check)
    makePrivate(path)
    db = new DatabaseSync(path)
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    if (isNew) prepare(db)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    return dataFile(path, db)
  } catch (cause) {
    db?.close()
    throw isWebhookError(cause) ? cause : failed(path, cause)
  }
}

function checkUnchanged(path: string, check: (file: ReadableFile) => unknown): void {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    check({ path, read: () => readRows(path, db) })
  } finally {
    db.close()
  }
}

/** It holds secrets, API keys and people. SQLite gives its log and index the file's own mode. */
function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)
}

function dataFile(path: string, db: DatabaseSync): DataFile {
  const put = db.prepare('INSERT OR REPLACE INTO records (kind, id, json) VALUES (?, ?, ?)')
  const remove = db.prepare('DELETE FROM records WHERE kind = ? AND id = ?')

  const all = (changes: readonly Change[], before?: string) => {
    db.exec('BEGIN IMMEDIATE')
    try {
      if (before) db.exec(before)
      for (const { kind, id, value } of changes) {
        if (value === undefined) remove.run(kind, id)
        else put.run(kind, id, JSON.stringify(value))
      }
      db.exec('COMMIT')
    } catch (error) {
      // A full disk has already rolled back by itself.
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }
  return {
    path,
    read: () => readRows(path, db),
    write: (changes) => all(changes),
    replace: (changes) => all(changes, 'DELETE FROM records'),
    close: () => db.close(),
  }
}

function readRows(path: string, db: DatabaseSync): readonly FileRow[] {
  const select = db.prepare('SELECT kind, id, json FROM records')
  let row = 'its first row'
  try {
    const rows: FileRow[] = []
    for (const { kind, id, json } of select.iterate()) {
      row = `the row ${kind}/${id}`
      rows.push({ kind: String(kind), id: String(id), value: JSON.parse(String(json)) })
    }
    return rows
  } catch (cause) {
    throw damaged(path, row, cause)
  }
}

function failed(path: string, cause: unknown): WebhookError {
  const why = cause instanceof Error ? cause.message : String(cause)
  const hint = isLocked(cause)
    ? 'another sandbox is using it: stop that one, or use another file'
    : 'pass a file of a sandbox, or one that does not exist yet'
  const message = `cannot use the data file ${path} (${why}): ${hint}`
  return new WebhookError('DATA_FILE_FAILED', message, { cause })
}

/** SQLITE_BUSY, plain or extended. */
function isLocked(cause: unknown): boolean {
  if (!(cause instanceof Error) || !('errcode' in cause)) return false
  return typeof cause.errcode === 'number' && (cause.errcode & 0xff) === 5
}

/**
 * Whether the file is new; throws when it is not a sandbox's. It is opened as immutable: an
 * ordinary opening writes beside it, and into it when it closes.
 */
function refuseForeign(path: string): boolean {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return true
  const address = pathToFileURL(resolve(path))
  address.search = 'mode=ro&immutable=1'
  const db = new DatabaseSync(address)
  try {
    const pragma = (name: string) => db.prepare(`PRAGMA ${name}`).get()?.[name]
    if (pragma('application_id') !== applicationId) {
      throw new Error('it is a database of another application, and was not touched')
    }
    const version = pragma('user_version')
    if (version !== format) throw new Error(`it has format ${version}, this one is ${format}`)
    return false
  } finally {
    db.close()
  }
}

/** Before the write-ahead log begins, so that the application id is in the file's own header. */
function prepare(db: DatabaseSync): void {
  db.exec('BEGIN EXCLUSIVE')
  const { many } = db.prepare('SELECT count(*) AS many FROM sqlite_schema').get() as {
    many: number
  }
  if (many > 0) throw new Error('another process has just created it')
  db.exec(`CREATE TABLE records (
    kind TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (kind, id)
  ) WITHOUT ROWID`)
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${format}; COMMIT`)
}
