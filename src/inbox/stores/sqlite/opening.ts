// Opens the file for its one owner, with the settings that keep the promise (WAL, every commit
// synced, an intact file, one owning process), or beside the owner for an operator.
import { existsSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { WebhookError } from '../../../errors.ts'
import { isBusy, isFatal, type OpenDatabase, type SqliteDatabase, transact } from './driver.ts'
import {
  assertSideFiles,
  createPrivate,
  damagedFile,
  isNetworkDisk,
  makePrivate,
  refusedFile,
} from './file-checks.ts'
import { assertSchema, migrate } from './schema.ts'

/** The part of the file that is read at the start: all of it, or all but its indexes. */
export type FileCheck = 'integrity' | 'quick'

/** `operator` opens a file beside the process that owns it. */
export type FileMode = 'owner' | 'operator'

export interface FileOpening {
  readonly file: string
  readonly open: OpenDatabase
  readonly check?: FileCheck | undefined
}

/** An open database; `epoch` grows with every owner, and an operator has none. */
export interface InboxDatabase {
  readonly db: SqliteDatabase
  readonly epoch?: number
  /** The canonical path of a file; absent in memory. */
  readonly path?: string
  close(): void
}

export function openInMode(opening: FileOpening, mode: FileMode): InboxDatabase {
  return mode === 'owner' ? openOwned(opening) : openBeside(opening)
}

/** Opens a file for finding and redriving; an operator neither keeps nor claims. */
function openBeside({ file, open, check }: FileOpening): InboxDatabase {
  const path = canonicalPath(file)
  if (!existsSync(path)) {
    throw new WebhookError('STORE_FAILED', `inbox ${path} does not exist: check the path`)
  }
  let db: SqliteDatabase | undefined
  try {
    assertSideFiles(path, open, false)
    const isChecked = !check || isCheckedUnchanged(path, open, check)
    db = open(path)
    // An owner that closes takes the file for a moment.
    db.exec('pragma busy_timeout = 1000')
    // Checked before any pragma that lasts: a file that is not an inbox must not change.
    assertSchema(db, path)
    configure(db)
    if (check && !isChecked) assertIntact(db, path, check)
    const opened = db
    return { db, path, close: () => void opened.close() }
  } catch (error) {
    db?.close()
    throw explained(error, path)
  }
}

function openOwned({ file, open, check = 'integrity' }: FileOpening): InboxDatabase {
  const path = canonicalPath(file)
  makePrivate(path)
  const lock = takeLock(`${path}-owner`, open)
  let db: SqliteDatabase | undefined
  try {
    const isNew = createPrivate(path)
    if (isNew) initialise(path, open)
    else assertSideFiles(path, open, true)
    const isChecked = isNew || isCheckedUnchanged(path, open, check)
    db = open(path)
    configure(db)
    if (!isChecked) assertIntact(db, path, check)
    // After a failed sync Linux treats pages of the log as written although the disk lacks them.
    // Moving the log writes them again; otherwise all later frames would follow a hole.
    db.exec('pragma wal_checkpoint(truncate)')
    migrate(db)
    const epoch = nextEpoch(db)
    assertDurable(db)
    const owned = db
    const close = () => {
      owned.close()
      lock.close()
    }
    return { db: owned, epoch, path, close }
  } catch (error) {
    db?.close()
    lock.close()
    throw explained(error, path)
  }
}

/** Opens a database that only this process has. */
export function openInMemory(open: OpenDatabase): InboxDatabase {
  const db = open(':memory:')
  migrate(db)
  return { db, epoch: nextEpoch(db), close: () => void db.close() }
}

/** The settings of every connection that writes; each has its own. */
export function configure(db: SqliteDatabase, synchronous: 'full' | 'normal' = 'full'): void {
  db.exec('pragma busy_timeout = 1000')
  db.exec('pragma journal_mode = wal')
  db.exec(`pragma synchronous = ${synchronous}`)
  db.exec('pragma fullfsync = 1')
  db.exec('pragma checkpoint_fullfsync = 1')
  // Erased data must not stay readable in free pages of the file.
  db.exec('pragma secure_delete = on')
  db.exec('pragma journal_size_limit = 67108864')
  // Often and in small steps: deliveries wait for each step, which runs within a commit.
  db.exec('pragma wal_autocheckpoint = 500')
  // KiB: a batch of deliveries that change more pages than fit would write some of them twice.
  db.exec('pragma cache_size = -4000')
}

export function canonicalPath(file: string): string {
  if (file === '' || file.startsWith(':memory:') || file.startsWith('file:')) {
    throw new WebhookError(
      'STORE_UNSUITABLE',
      `sqliteStore needs the path of a file, not '${file}': for tests there is ':memory:'`,
    )
  }
  const folder = dirname(resolve(file))
  try {
    if (isNetworkDisk(statfsSync(folder))) {
      throw new WebhookError(
        'STORE_UNSUITABLE',
        `${folder} is on the file system of a network, whose locks and syncs SQLite cannot trust: use a local disk`,
      )
    }
    return existsSync(file) ? realpathSync(file) : join(realpathSync(folder), basename(file))
  } catch (cause) {
    if (cause instanceof WebhookError) throw cause
    const { code, message } = cause as { code?: unknown; message?: unknown }
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR'
    const why = isMissing ? 'does not exist: create it' : `cannot be opened: ${message}`
    throw new WebhookError('STORE_FAILED', `folder ${folder} ${why}`, { cause })
  }
}

/**
 * Checks the file through a connection that cannot write; false if the driver has none or cannot
 * read the file by it. The last connection that can write moves the log into the file when it
 * closes: of a damaged file that would take what can still be saved.
 *
 * @throws WebhookError `STORE_DAMAGED`; `STORE_UNSUITABLE` for a file of another kind
 */
function isCheckedUnchanged(path: string, open: OpenDatabase, check: FileCheck): boolean {
  let db: SqliteDatabase | undefined
  try {
    db = open.readOnly?.(path)
    db?.exec('pragma busy_timeout = 1000')
    if (db) assertIntact(db, path, check, true)
    return db !== undefined
  } catch (error) {
    if (error instanceof WebhookError) throw error
    if (isFatal(error)) throw refusedFile(path, error, true)
    return false
  } finally {
    db?.close()
  }
}

function assertIntact(db: SqliteDatabase, path: string, check: FileCheck, isUnchanged = false) {
  const row = db.prepare(`pragma ${check}_check(1)`).get() as PragmaRow
  if (Object.values(row)[0] !== 'ok') throw damagedFile(path, undefined, isUnchanged)
}

/** Switches to WAL and writes once, before anything depends on the file. */
function initialise(path: string, open: OpenDatabase): void {
  const db = open(path)
  try {
    // A change of state touches a few rows in many pages, and SQLite logs whole pages: half the usual
    // size writes about half as much. The size of a new file can be set only before WAL is on.
    db.exec('pragma page_size = 2048')
    configure(db)
    migrate(db)
  } finally {
    db.close()
  }
}

/** Takes the owner's lock: a transaction held open on a second file, which dies with its process. */
function takeLock(path: string, open: OpenDatabase): SqliteDatabase {
  try {
    createPrivate(path, path.replace(/-owner$/, ''))
    const lock = open(path)
    try {
      lock.exec('pragma busy_timeout = 0')
      lock.exec('begin exclusive')
      return lock
    } catch (error) {
      lock.close()
      throw error
    }
  } catch (cause) {
    if (!isBusy(cause)) throw explained(cause, path)
    throw new WebhookError(
      'STORE_OWNED',
      `another process has the inbox ${path.replace(/-owner$/, '')} open, and one process owns it: stop the other, or use a file of your own`,
      { cause },
    )
  }
}

function nextEpoch(db: SqliteDatabase): number {
  const sql = `insert into idv_settings values ('epoch', 1)
    on conflict do update set value = value + 1 returning value`
  // A row read outside a transaction comes before the commit, and better-sqlite3 drops its error.
  const row = transact(db, () => db.prepare(sql).get() as { readonly value: unknown })
  return Number(row.value)
}

/** Read after a write: before it, the pragma shows what was asked for, not what holds. */
function assertDurable(db: SqliteDatabase): void {
  const { journal_mode: journal } = db.prepare('pragma journal_mode').get() as PragmaRow
  const { synchronous } = db.prepare('pragma synchronous').get() as PragmaRow
  if (journal === 'wal' && Number(synchronous) >= 2) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `SQLite runs with journal_mode ${journal} and synchronous ${synchronous}, which can lose what was acknowledged: the file needs wal and 2 (full)`,
  )
}

type PragmaRow = Readonly<Record<string, unknown>>

function explained(error: unknown, path: string): WebhookError {
  if (error instanceof WebhookError) return error
  if (isFatal(error)) return refusedFile(path, error)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    const message = `the inbox ${path} is a folder: name a file in it, e.g. ${join(path, 'inbox.db')}`
    return new WebhookError('STORE_FAILED', message, { cause: error })
  }
  const said = error instanceof Error ? error.message : String(error)
  const message = `the inbox ${path} cannot be opened (${said}): the folder must be there, and this user must be allowed to write in it`
  return new WebhookError('STORE_FAILED', message, { cause: error })
}
