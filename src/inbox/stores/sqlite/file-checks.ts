// Checks of an inbox's files when they are opened, and the cause that they name when a statement
// fails later. The files are not watched in between.
import {
  chmodSync,
  closeSync,
  existsSync,
  fchownSync,
  lstatSync,
  openSync,
  statSync,
} from 'node:fs'
import { WebhookError } from '../../../errors.ts'
import { warn } from '../../../foundation/warn.ts'
import { isBusy, isOtherFile, type OpenDatabase } from './driver.ts'

/** Milliseconds in which a process that opens or closes the inbox has made or removed its files. */
const settleTimeout = 2_000

/** Linux's numbers of NFS, SMB (three), Ceph, Lustre, GPFS and AFS (two). */
const networkDisks: readonly number[] = [
  ...[0x6969, 0x517b, 0xff534d42, 0xfe534d42],
  ...[0x00c36400, 0x0bd00bd0, 0x47504653, 0x5346414f, 0x6b414653],
]

/** Tells whether other machines may mount the disk: its locks and syncs cannot be trusted. */
export function isNetworkDisk({ type }: { readonly type: number }): boolean {
  return networkDisks.includes(type >>> 0)
}

/**
 * Gives the files of an inbox mode 0600, because copied or restored files may have any mode. Called
 * before they are opened: SQLite gives its other files the same mode.
 *
 * @throws WebhookError `STORE_UNSUITABLE` if one of them is a link or a device
 */
export function makePrivate(path: string): void {
  if (process.platform === 'win32') return
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-owner`]) {
    const found = lstatSync(file, { throwIfNoEntry: false })
    if (!found || found.isDirectory()) continue
    if (!found.isFile()) {
      throw new WebhookError('STORE_UNSUITABLE', `${file} is not a file: remove it`)
    }
    if ((found.mode & 0o077) === 0) continue
    try {
      chmodSync(file, 0o600)
    } catch {
      const octal = (found.mode & 0o777).toString(8)
      const message = `others may read ${file} (mode ${octal}), and this user cannot change it: chmod 600 it`
      warn(message, 'INBOX_MODE')
    }
  }
}

/** Creates a file with mode 0600 unless it exists; root gives it the user of the file `like`. */
export function createPrivate(file: string, like?: string): boolean {
  // Opening a file that exists would drop this process's locks on it at the close.
  if (existsSync(file)) return false
  const created = openSync(file, 'wx', 0o600)
  const of = like === undefined ? undefined : statSync(like, { throwIfNoEntry: false })
  try {
    if (of) fchownSync(created, of.uid, of.gid)
  } catch {
    // Only root may change the owner.
  } finally {
    closeSync(created)
  }
  return true
}

/**
 * Rejects a file that another connection has open while its log (`-wal`) or the index of the log
 * (`-shm`) is missing: SQLite would create another one, and two writers that do not see each other
 * damage the file. Called before anything opens the file.
 *
 * @throws WebhookError `STORE_FAILED`, and what reading the file throws
 */
export function assertSideFiles(path: string, open: OpenDatabase, isOwner: boolean): void {
  const missing = () => [`${path}-wal`, `${path}-shm`].find((file) => !existsSync(file))
  // Beside a log only the owner's lock shows that the file is not open: a probe would move the log.
  const isUnsafe = () => (hasLog(path) ? !isOwner : isOpenElsewhere(path, open))
  const until = performance.now() + settleTimeout
  for (let file = missing(); file !== undefined && isUnsafe(); file = missing()) {
    if (performance.now() > until) {
      throw new WebhookError(
        'STORE_FAILED',
        `${file} is missing, and the inbox ${path} may be open: it was deleted, or the inbox is open under another name (a hard link). Restart the application in good order first: that writes what it holds`,
      )
    }
    // A random wait: two processes that probe at the same time would block each other at every
    // turn.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25 * (1 + Math.random()))
  }
}

/** Every connection to a file in WAL mode holds a lock on the file itself while it is open. */
function isOpenElsewhere(path: string, open: OpenDatabase): boolean {
  const db = open(path)
  try {
    // Takes the file for itself before anything else, and needs no index of the log.
    db.exec('pragma busy_timeout = 0; pragma locking_mode = exclusive')
    // Not prepared: on some runtimes a statement keeps its database open, and the file locked, after close.
    db.exec('select 1 from sqlite_schema')
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw error
  } finally {
    db.close()
  }
}

/** Tells whether closing the file could change it. */
function hasLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
}

export function refusedFile(path: string, cause: unknown, isUnchanged = false): WebhookError {
  if (!isOtherFile(cause)) return damagedFile(path, cause, isUnchanged)
  return new WebhookError(
    'STORE_UNSUITABLE',
    `${path} is not an SQLite file and was left unchanged: check the path; if it was an inbox, it was overwritten or encrypted, so restore your backup`,
    { cause },
  )
}

/** `isUnchanged` if no connection that can write has opened it. */
export function damagedFile(path: string, cause?: unknown, isUnchanged = false): WebhookError {
  const state = isUnchanged ? 'damaged and nothing was changed' : 'damaged'
  return new WebhookError(
    'STORE_DAMAGED',
    `the inbox ${path} is ${state}: keep a copy with its -wal file, then restore your backup, or save what can be read with: sqlite3 ${path} .recover | sqlite3 recovered.db`,
    { cause },
  )
}

/** Returns a function that names a file of an open inbox that was deleted or replaced since. */
export function lossOf(path: string): () => string | undefined {
  const known = [path, `${path}-wal`, `${path}-shm`].map((file) => [file, inodeOf(file)] as const)
  return () => {
    const lost = known.find(([file, inode]) => inode !== undefined && inodeOf(file) !== inode)
    return (
      lost &&
      `the file ${lost[0]} was deleted or replaced while it was open: put it back or restore your backup, then restart the application`
    )
  }
}

function inodeOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file)
    return `${dev} ${ino}`
  } catch {
    return undefined
  }
}
