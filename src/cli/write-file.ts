// Writes files whole or not at all: a temporary file beside the target, renamed over it.
import {
  chmodSync,
  mkdirSync,
  readFileSync,
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

/** A file's text before and after. */
export interface Replacement {
  readonly before: string
  readonly after: string
}

/** Writes a file whole; an interruption leaves the old one or the new one, never half of it. */
export function writeWhole(path: string, content: string | Uint8Array, options: WriteOptions = {}) {
  mkdirSync(dirname(path), { recursive: true })
  write(path, { content, mode: options.mode })
}

/** Replaces a file whole, unless it is another than before by then: false, and it stays. */
export function replaceWhole(path: string, { before, after }: Replacement): boolean {
  const old = Buffer.from(before)
  const isSame = () => readFileSync(path).equals(old)
  return isSame() && write(path, { content: after, stillGood: isSame })
}

interface Writing {
  readonly content: string | Uint8Array
  readonly mode?: number | undefined
  /** Asked when all is written, just before it takes the old one's place. */
  readonly stillGood?: () => boolean
}

function write(path: string, { content, mode = 0o666, stillGood }: Writing): boolean {
  const before = statSync(path, { throwIfNoEntry: false })
  // A link stays one: what it leads to is replaced.
  const target = before ? realpathSync(path) : path
  const temporary = `${target}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, content, { mode: before?.mode ?? mode, flag: 'wx' })
    // The umask has narrowed what the file had: give it back.
    if (before) chmodSync(temporary, before.mode & 0o7777)
    const goesOn = stillGood?.() ?? true
    if (goesOn) renameSync(temporary, target)
    else rmSync(temporary, { force: true })
    return goesOn
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
