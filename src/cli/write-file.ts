// Writes files whole or not at all: a temporary file beside the target, renamed over it.
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** How a file is written. */
export interface WriteOptions {
  /** The permissions of a new file; a file that is replaced keeps its own. */
  readonly mode?: number
}

/** Writes a file whole; an interruption leaves the old one or the new one, never half of it. */
export function writeWhole(path: string, content: string | Uint8Array, options: WriteOptions = {}) {
  mkdirSync(dirname(path), { recursive: true })
  const before = statSync(path, { throwIfNoEntry: false })
  const mode = before?.mode ?? options.mode ?? 0o644
  const temporary = `${path}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, content, { mode, flag: 'wx' })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
