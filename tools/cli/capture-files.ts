// Reads captures from files, folders or stdin, and checks all of them before one is used.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { reasonOf } from '../../src/errors.ts'
import { isWebhookError } from '../../src/index.ts'
import { type ReadCapture, readCapture } from '../../src/testing/index.ts'
import { CliError } from './exit-code.ts'
import { readText, statOf } from './files.ts'
import { printable } from './output.ts'
import type { Session } from './session.ts'

export interface NamedCapture extends ReadCapture {
  readonly file: string
}

/** Reads captures in the given order; of a folder its .json files by name. */
export async function readCaptures(session: Session, paths: readonly string[]) {
  const captures: NamedCapture[] = []
  for (const path of paths) {
    if (path === '-') captures.push(read('stdin', await readText(session, path)))
    else captures.push(...fromPath(session, path))
  }
  return captures
}

function fromPath(session: Session, path: string): readonly NamedCapture[] {
  const missing = (why: string) => new CliError('CAPTURE_MISSING', `${path} ${why}`)
  const full = resolve(session.cwd, path)
  const found = statOf(full)
  if (!found) throw missing('does not exist: check the path')
  if (!found.isDirectory()) return [fromFile(full, path)]
  const names = readdirSync(full).filter((name) => name.endsWith('.json'))
  if (names.length === 0) {
    throw missing(
      `contains no .json files: record deliveries with idv-webhooks capture --dir ${path}`,
    )
  }
  const captures = names.sort().flatMap((name) => readOrSkip(session, join(full, name)))
  if (captures.length === 0) throw missing('contains no captures')
  return captures
}

/** A file of a folder that is not a capture is reported and skipped. */
function readOrSkip({ cwd, out, ending }: Session, full: string): readonly NamedCapture[] {
  const file = relative(cwd, full)
  try {
    return [fromFile(full, file)]
  } catch (error) {
    const message = reasonOf(error)
    ending.failed = true
    out.record({ type: 'unreadable', file, message })
    out.say(`${out.tint('red', 'skipped')} ${printable(message)}`)
    return []
  }
}

/** A pipe without a writer would hold the process for ever, and a device has no end. */
function fromFile(full: string, path: string): NamedCapture {
  if (!statOf(full)?.isFile()) {
    const message = `${path} is not a file: pass a file, or - to read stdin`
    throw new CliError('CAPTURE_INVALID', message)
  }
  return read(path, readFileSync(full, 'utf8').replace(/^\uFEFF/, ''))
}

function read(file: string, source: string): NamedCapture {
  try {
    return { ...readCapture(source), file }
  } catch (error) {
    if (!isWebhookError(error)) throw error
    throw CliError.from(error, { message: `${file} is not a capture: ${error.reason}` })
  }
}
