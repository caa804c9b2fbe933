// The log of an open inbox and its index, `-wal` and `-shm`. Where one of them was deleted, SQLite
// makes a new one for whoever comes next: two writers that do not see each other damage the file.
import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, rmSync } from 'node:fs'
import { WebhookError } from '../../../errors.ts'
import { isBusy, type Open } from './driver.ts'
import { hasLog } from './intact.ts'

/** Milliseconds in which whoever opens or closes the file has made its files, or is gone. */
const patience = 2_000
const pause = 25

/**
 * Refuses a file that somebody has open while its log or the index of that is missing. Called
 * before anything opens the file: from then on SQLite would have made what is missing.
 *
 * @throws WebhookError `STORE_FAILED`, and what reading the file throws
 */
export function assertSideFiles(path: string, open: Open, wait = patience): void {
  const missing = () => [`${path}-wal`, `${path}-shm`].find((file) => !existsSync(file))
  const until = performance.now() + wait
  for (let file = missing(); file !== undefined && isOpenElsewhere(path, open); file = missing()) {
    if (performance.now() < until) sleep()
    else throw bereft(path, file)
  }
}

/**
 * Every connection to a file with a log holds a lock on the file itself while it is open. Asked
 * under another name, beside which no log lies: this close would move the log into the file.
 */
function isOpenElsewhere(path: string, open: Open): boolean {
  if (!hasLog(path)) return isLocked(path, open)
  const alias = `${path}-probe-${randomUUID()}`
  try {
    linkSync(path, alias)
  } catch {
    // Not every file system knows links.
    return isLocked(path, open)
  }
  try {
    return isLocked(alias, open)
  } catch {
    // The lock was had. Without its log the file need not be whole; it is checked with it later.
    return false
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${alias}${end}`, { force: true })
  }
}

function isLocked(path: string, open: Open): boolean {
  const db = open(path)
  try {
    db.exec('pragma busy_timeout = 0')
    db.exec('pragma checkpoint_fullfsync = 1')
    // Asks for the file alone before anything else, and needs no index of the log.
    db.exec('pragma locking_mode = exclusive')
    // Not prepared: on Bun a statement keeps its database open, and the file locked, after close.
    db.exec('select 1 from sqlite_schema')
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw error
  } finally {
    db.close()
  }
}

/** Two that ask at the same time would refuse each other at every turn but for the chance. */
function sleep(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause * (1 + Math.random()))
}

function bereft(path: string, file: string): WebhookError {
  return new WebhookError(
    'STORE_FAILED',
    `the inbox ${path} is open, but ${file} is missing: it was deleted, or the inbox is open under another name (a hard link). Restart the application first, and whatever else has it open, in good order: that writes what they hold`,
  )
}
