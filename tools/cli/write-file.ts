// Writes files atomically: a temporary file beside the target, renamed over it. The file and its folder are
// synced, for a power cut must not lose a journal or a secret.
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** How a file is written. */
export interface WriteOptions {
  /** The permissions of a new file, before the umask; a replaced file keeps its own. */
  readonly mode?: number
  /** A replaced file keeps no permissions beyond `mode`, and no other owner. */
  readonly isPrivate?: boolean
}

/** Writes a file atomically: an interruption leaves the old content or the new. */
export function writeWhole(path: string, content: string | Uint8Array, options: WriteOptions = {}) {
  mkdirSync(dirname(path), { recursive: true })
  write(path, { content, ...options })
}

/** A new file, and how the names go on that it may have. */
export interface NewFile extends WriteOptions {
  readonly content: string
  /** The path with that number in it. */
  readonly pathOf: (number: number) => string
  readonly number: number
}

/** Writes a new file atomically under the first free name from a number on, and returns its path. */
export function writeNew({ content, pathOf, number, mode = 0o666 }: NewFile): string {
  const path = pathOf(number)
  mkdirSync(dirname(path), { recursive: true })
  const temporary = temporaryOf(path)
  try {
    writeSynced(temporary, content, mode)
    let at = number
    while (!link(temporary, pathOf(at))) at++
    syncFolder(dirname(path))
    return pathOf(at)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** No other run's: one that was killed leaves it, and in a container each has the same process id. */
const temporaryOf = (path: string) => `${path}.${randomUUID().slice(0, 8)}.tmp`

function writeSynced(path: string, content: string | Uint8Array, mode: number): void {
  const file = openSync(path, 'wx', mode)
  try {
    writeFileSync(file, content)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Makes the names in a folder durable. */
function syncFolder(path: string): void {
  let folder: number | undefined
  try {
    folder = openSync(path, 'r')
    fsyncSync(folder)
  } catch {
    // Windows and some file systems open or sync no folder.
  } finally {
    if (folder !== undefined) closeSync(folder)
  }
}

/** The file under its name, unless there is one. */
function link(temporary: string, path: string): boolean {
  try {
    linkSync(temporary, path)
    return true
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'EEXIST') return false
    // A file system without links.
    if (existsSync(path)) return false
    renameSync(temporary, path)
    return true
  }
}

interface Writing {
  readonly content: string | Uint8Array
  readonly mode?: number | undefined
  readonly isPrivate?: boolean | undefined
}

function write(path: string, { content, mode = 0o666, isPrivate }: Writing): void {
  const before = statSync(path, { throwIfNoEntry: false })
  // A link stays a link: its target is replaced.
  const target = before ? realpathSync(path) : path
  const temporary = temporaryOf(target)
  try {
    writeSynced(temporary, content, isPrivate ? mode : (before?.mode ?? mode))
    if (before && !isPrivate) keepOwner(temporary, before)
    // The umask has narrowed the permissions of the old file: restore them.
    if (before) chmodSync(temporary, before.mode & (isPrivate ? mode : 0o7777))
    renameSync(temporary, target)
    syncFolder(dirname(target))
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** Root writes for another user, as in a container: the new file stays theirs. */
function keepOwner(path: string, { uid, gid }: Stats): void {
  const own = statSync(path)
  if (own.uid === uid && own.gid === gid) return
  try {
    chownSync(path, uid, gid)
  } catch {
    // Only root may; another user keeps what it wrote.
  }
}
