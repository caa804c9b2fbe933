// Opens the file for its one owner, and only in the settings that keep the promise: WAL, every
// commit synced, an intact file, nobody else's.
import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { WebhookError } from '../../../errors.ts'
import { isBusy, isFatal, type Open, type SqliteDatabase, transact } from './driver.ts'
import { diskOf, isNetworkDisk } from './file-system.ts'
import {
  assertIntact,
  type Check,
  hasLog,
  isCheckedUnchanged,
  openReader,
  refusedFile,
} from './intact.ts'
import { assertOwnLink, createPrivate, makePrivate } from './private-files.ts'
import { assertSchema, migrate } from './schema.ts'
import { assertSideFiles } from './side-files.ts'

/** How to open a file. */
export interface Opening {
  readonly file: string
  readonly open: Open
  readonly check?: Check | undefined
}

/** An open database; `epoch` grows with every owner, and who only operates has none. */
export interface Owned {
  readonly db: SqliteDatabase
  readonly epoch?: number
  /** The canonical path, of what is a file. */
  readonly path?: string
  /**
   * The same for writing, where this is for looking alone: the close of what may write moves the
   * log into the file, however its process ends. It closes both.
   *
   * @throws WebhookError `STORE_DAMAGED`, `STORE_FAILED`
   */
  forWriting?(): Owned
  close(): void
}

/**
 * Opens a file beside its owner, for looking and for redriving: nothing is kept or claimed there,
 * and the file is checked where that was asked for.
 *
 * @throws WebhookError `STORE_FAILED`, `STORE_UNSUITABLE`, `STORE_DAMAGED`
 */
export function openBeside({ file, open, check }: Opening): Owned {
  const path = canonicalPath(file)
  if (!existsSync(path)) {
    throw new WebhookError('STORE_FAILED', `inbox ${path} does not exist: check the path`)
  }
  let db: SqliteDatabase | undefined
  let isUnchanged = !hasLog(path)
  try {
    assertSideFiles(path, open)
    const reader = openReader(path, open)
    const isReader = reader !== undefined
    const needsCheck = !isUnchanged && !check
    isUnchanged ||= isReader
    db = reader ?? open(path)
    // It may be closing elsewhere, which takes the file for a moment.
    db.exec('pragma busy_timeout = 1000')
    // Checked before any pragma that lasts: a file that is not an inbox must not change.
    assertSchema(db, path)
    if (!isReader) configure(db)
    if (check) assertIntact(db, path, check, isUnchanged)
    const opened = db
    const close = () => void opened.close()
    const forWriting = () => {
      try {
        // As at a start: an older log may fit but for an index. Whoever only looks is spared it.
        if (needsCheck) assertIntact(opened, path, 'integrity', isUnchanged)
        return isReader ? writingBeside(opened, path, open) : { db: opened, path, close }
      } catch (error) {
        throw explained(error, path, isUnchanged)
      }
    }
    return { db, path, ...((isReader || needsCheck) && { forWriting }), close }
  } catch (error) {
    db?.close()
    throw explained(error, path, isUnchanged)
  }
}

/** Whoever has written is the last to close: nothing that it erased may stay in the log. */
function writingBeside(reader: SqliteDatabase, path: string, open: Open): Owned {
  const db = open(path)
  try {
    configure(db)
  } catch (error) {
    db.close()
    throw error
  }
  const close = () => {
    reader.close()
    db.close()
  }
  return { db, path, close }
}

/** @throws WebhookError `STORE_FAILED`, `STORE_UNSUITABLE`, both naming the file and the way back */
export function openOwned({ file, open, check = 'integrity' }: Opening): Owned {
  const path = canonicalPath(file)
  makePrivate(path)
  const lock = takeLock(`${path}-owner`, open)
  let db: SqliteDatabase | undefined
  try {
    const isNew = createPrivate(path)
    if (isNew) initialise(path, open)
    else assertSideFiles(path, open)
    const isChecked = isNew || isCheckedUnchanged(path, open, check)
    db = open(path)
    configure(db)
    if (!isChecked) assertIntact(db, path, check, !hasLog(path))
    // A log may be in memory alone: after a sync that failed, Linux takes its pages for written. What is
    // moved is written again; else all that comes after them would be behind a hole.
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

/** A database of this process alone, in which nothing can be lost that a disk would have kept. */
export function openInMemory(open: Open): Owned {
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
  // Small and often: each one is done within a commit, and deliveries wait for it.
  db.exec('pragma wal_autocheckpoint = 500')
  // KiB: a batch of deliveries that change more pages than fit would write some of them twice.
  db.exec('pragma cache_size = -4000')
}

/** The one path of a file, however it is written. */
export function canonicalPath(file: string): string {
  if (file === '' || file.startsWith(':memory:') || file.startsWith('file:')) {
    throw new WebhookError(
      'STORE_UNSUITABLE',
      `sqliteStore needs the path of a file, not '${file}': for tests there is ':memory:'`,
    )
  }
  const folder = dirname(resolve(file))
  try {
    if (isNetworkDisk(diskOf(folder))) {
      throw new WebhookError(
        'STORE_UNSUITABLE',
        `${folder} is on the file system of a network or a bucket, whose locks and syncs SQLite cannot trust: use a local disk`,
      )
    }
    if (!existsSync(file)) return join(realpathSync(folder), basename(file))
    assertOwnLink(file)
    return realpathSync(file)
  } catch (cause) {
    if (cause instanceof WebhookError) throw cause
    const { code, message } = cause as { code?: unknown; message?: unknown }
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR'
    const why = isMissing ? 'does not exist: create it' : `cannot be opened: ${message}`
    throw new WebhookError('STORE_FAILED', `folder ${folder} ${why}`, { cause })
  }
}

/** Switches to WAL and writes once, before anything depends on the file. */
function initialise(path: string, open: Open): void {
  const db = open(path)
  try {
    // A change of state touches a few rows in many pages, and the log takes whole pages: half the
    // usual size writes little more than half as much. Before the log is on, and for new files.
    db.exec('pragma page_size = 2048')
    configure(db)
    migrate(db)
  } finally {
    db.close()
  }
}

/** A lock that dies with its process: a transaction held open on a file of its own. */
function takeLock(path: string, open: Open): SqliteDatabase {
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

/** Read back after a write: before it the pragma shows what was asked, not what is. */
function assertDurable(db: SqliteDatabase): void {
  const { journal_mode: journal } = db.prepare('pragma journal_mode').get() as Columns
  const { synchronous } = db.prepare('pragma synchronous').get() as Columns
  if (journal === 'wal' && Number(synchronous) >= 2) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `SQLite runs with journal_mode ${journal} and synchronous ${synchronous}, which can lose what was acknowledged: the file needs wal and 2 (full)`,
  )
}

type Columns = Readonly<Record<string, unknown>>

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function explained(error: unknown, path: string, isUnchanged = false): WebhookError {
  if (error instanceof WebhookError) return error
  if (isFatal(error)) return refusedFile(path, isUnchanged, error)
  if (isFolder(path)) {
    const message = `the inbox ${path} is a folder: name a file in it, e.g. ${join(path, 'inbox.db')}`
    return new WebhookError('STORE_FAILED', message, { cause: error })
  }
  const said = error instanceof Error ? error.message : String(error)
  const message = `the inbox ${path} cannot be opened (${said}): the folder must be there, and this user must be allowed to write in it`
  return new WebhookError('STORE_FAILED', message, { cause: error })
}
