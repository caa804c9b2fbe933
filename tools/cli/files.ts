// Files that a command reads and writes. A replaced file is a temporary one beside it, renamed over it;
// all are synced: a power cut must not lose a journal or a secret.
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
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

/** The file at a path; undefined if nothing can be reached, such as for a link to itself. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Why a file could not be read: the rest of a sentence that begins with its name. */
export function readFailure(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'does not exist: check the path'
  if (code === 'EISDIR') return 'is a folder: name a file in it'
  return `cannot be read (${code ?? 'unknown error'}): check that this user may read it`
}

/** How a file is written. */
export interface WriteOptions {
  /** The permissions of a new file, before the umask; a replaced file keeps its own. */
  readonly mode?: number
  /** A replaced file keeps no permissions beyond `mode`. */
  readonly isPrivate?: boolean
}

/** Writes a file atomically: an interruption leaves the old content or the new. */
export function writeWhole(path: string, content: string | Uint8Array, options: WriteOptions = {}) {
  const { mode = 0o666, isPrivate = false } = options
  mkdirSync(dirname(path), { recursive: true })
  const before = statSync(path, { throwIfNoEntry: false })
  // A link stays a link: its target is replaced.
  const target = before ? realpathSync(path) : path
  const temporary = `${target}.${randomUUID().slice(0, 8)}.tmp`
  const given = isPrivate ? mode : (before?.mode ?? mode)
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode: given, flush: true })
    // Root may write for another user, as in a container: the file stays theirs.
    const isRoot = process.getuid?.() === 0
    if (before && !isPrivate && isRoot) chownSync(temporary, before.uid, before.gid)
    // The umask has narrowed the permissions of the old file.
    if (before) chmodSync(temporary, before.mode & (isPrivate ? mode : 0o7777))
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(target))
}

/** A new file, and the names that it may have. */
export interface NewFile {
  readonly content: string
  readonly mode: number
  /** The path with that number in it. */
  readonly pathOf: (number: number) => string
  readonly number: number
}

/** Writes a new file under the first free name from a number on, and returns its path. */
export function writeNew({ content, pathOf, number, mode }: NewFile): string {
  for (let at = number; ; at++) {
    const path = pathOf(at)
    mkdirSync(dirname(path), { recursive: true })
    try {
      writeFileSync(path, content, { flag: 'wx', mode, flush: true })
      syncFolder(dirname(path))
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
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
