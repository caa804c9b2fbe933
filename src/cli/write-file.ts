// Writes files whole or not at all: a temporary file beside the target, renamed over it.
import {
  chmodSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** How a file is written. */
export interface WriteOptions {
  /** The permissions of a new file, less the umask; a file that is replaced keeps its own. */
  readonly mode?: number
}

/** Writes a file whole; an interruption leaves the old one or the new one, never half of it. */
export function writeWhole(path: string, content: string | Uint8Array, options: WriteOptions = {}) {
  mkdirSync(dirname(path), { recursive: true })
  const before = statSync(path, { throwIfNoEntry: false })
  // A link stays one: what it leads to is replaced.
  const target = before ? realpathSync(path) : path
  const temporary = `${target}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, content, { mode: before?.mode ?? options.mode ?? 0o666, flag: 'wx' })
    // The umask has narrowed what the file had: give it back.
    if (before) chmodSync(temporary, before.mode & 0o7777)
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
