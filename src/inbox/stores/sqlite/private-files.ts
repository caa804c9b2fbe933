// The files of an inbox are for their owner alone. They may stand in a folder where others may write too.
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { WebhookError } from '../../../errors.ts'
import { warn } from '../../../foundation/warn.ts'

/**
 * Files that were copied or restored may have any mode; payloads are for their owner alone. Before
 * they are opened, for SQLite gives its other files the same mode.
 *
 * @throws WebhookError `STORE_UNSUITABLE` for a link in place of a file beside the inbox, and as root
 * for a file of another user than the folder's
 */
export function makePrivate(path: string): void {
  if (process.platform === 'win32') return
  for (const one of [path, `${path}-wal`, `${path}-shm`, `${path}-owner`]) {
    const found = lstatSync(one, { throwIfNoEntry: false })
    if (!found || found.isDirectory()) continue
    if (!found.isFile()) throw unsuitable(`${one} is not a file: remove it`)
    assertOwned(one, found)
    if ((found.mode & 0o077) === 0) continue
    try {
      narrow(one, found)
    } catch {
      const octal = (found.mode & 0o777).toString(8)
      warn(
        `others may read ${one} (mode ${octal}), and this user cannot change it: chmod 600 it`,
        'INBOX_MODE',
      )
    }
  }
}

/** Creates a file for its owner's eyes alone: SQLite gives its other files the same mode. */
export function createPrivate(path: string, beside?: string): boolean {
  // Never opened when it is there: closing it would drop the locks of this process on it.
  if (existsSync(path)) return false
  const file = openSync(path, 'wx', 0o600)
  try {
    // Root that looks after an inbox must not shut its owner out.
    const of = beside === undefined ? undefined : statSync(beside, { throwIfNoEntry: false })
    if (of && ownId() === 0) fchownSync(file, of.uid, of.gid)
  } finally {
    closeSync(file)
  }
  return true
}

/**
 * Whoever plants a link could have it lead to a file of another user.
 *
 * @throws WebhookError `STORE_UNSUITABLE`
 */
export function assertOwnLink(path: string): void {
  if (process.platform === 'win32') return
  const link = lstatSync(path)
  const trusted = [0, ownId(), statSync(path).uid]
  if (!link.isSymbolicLink() || trusted.includes(link.uid)) return
  throw unsuitable(
    `${path} is a link of user ${link.uid} to a file of another user: name the file itself`,
  )
}

/** Deno keeps it from whoever was not allowed to ask. */
function ownId(): number | undefined {
  try {
    return process.geteuid?.()
  } catch {
    return undefined
  }
}

/** Root may read everything; another user who came first would keep reading. */
function assertOwned(path: string, { uid }: Stats): void {
  if (ownId() !== 0 || uid === 0 || uid === statSync(dirname(path)).uid) return
  throw unsuitable(
    `${path} belongs to user ${uid}, who could read what is kept: chown it, or use a folder of one user alone`,
  )
}

/** Linux alone, but not Deno: names a file without opening it, for that would drop the locks of this process. */
const pathOnly = 0o10000000

/** The mode of that file, and not of one that has taken its place since. */
function narrow(path: string, { dev, ino }: Stats): void {
  if (process.platform !== 'linux' || 'Deno' in globalThis) {
    chmodSync(path, 0o600)
    return
  }
  const file = openSync(path, pathOnly | constants.O_NOFOLLOW)
  try {
    const now = fstatSync(file)
    if (now.dev === dev && now.ino === ino) chmodSync(`/proc/self/fd/${file}`, 0o600)
  } finally {
    closeSync(file)
  }
}

function unsuitable(message: string): WebhookError {
  return new WebhookError('STORE_UNSUITABLE', message)
}
