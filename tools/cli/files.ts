// Files that a command reads and writes. A replaced file is a temporary one renamed over it, so that
// an interruption leaves the old content or the new.
import { randomUUID } from 'node:crypto'
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { CliError } from './exit-code.ts'

/** The file at a path; undefined if nothing can be reached, such as for a link to itself. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

interface InputSource {
  readonly cwd: string
  readonly stdin: NodeJS.ReadStream
}

/** Reads a file that the caller named, or stdin for `-`; messages call it `shown`. */
export async function readInput(
  { cwd, stdin }: InputSource,
  name: string,
  { shown = name, code = 'FILE_MISSING' } = {},
): Promise<Buffer> {
  if (name === '-') return buffer(stdin)
  try {
    return readFileSync(resolve(cwd, name))
  } catch (error) {
    throw new CliError(code, `${shown} ${readFailure(error)}`)
  }
}

export async function readText(session: InputSource, name: string): Promise<string> {
  return new TextDecoder().decode(await readInput(session, name))
}

/** Why a file could not be read: the rest of a sentence that begins with its name. */
function readFailure(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'does not exist: check the path'
  if (code === 'EISDIR') return 'is a folder: name a file in it'
  return `cannot be read (${code ?? 'unknown error'}): check that this user may read it`
}

export function writeWhole(path: string, content: string, mode = 0o666): void {
  mkdirSync(dirname(path), { recursive: true })
  const temporary = `${path}.${randomUUID().slice(0, 8)}.tmp`
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode, flush: true })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** Writes a private file under the first free name from a number on, and returns its path. */
export function writeNew(content: string, first: number, pathOf: (at: number) => string): string {
  for (let at = first; ; at++) {
    const path = pathOf(at)
    mkdirSync(dirname(path), { recursive: true })
    try {
      writeFileSync(path, content, { flag: 'wx', mode: 0o600, flush: true })
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
