// Captures from files, folders or stdin, all read and checked before one is used.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { reasonOf } from '../../src/errors.ts'
import { isWebhookError } from '../../src/index.ts'
import { type ReadCapture, readCapture } from '../../src/testing/index.ts'
import { CliError } from './exit-code.ts'
import { statOf } from './files.ts'
import { printable } from './output.ts'
import type { Session } from './session.ts'

/** A capture with the name of its file, as the caller wrote it. */
export interface NamedCapture extends ReadCapture {
  readonly file: string
  /** The JSON text of the file. */
  readonly source: string
}

/** Reads captures in the given order; of a folder its .json files by name. */
export async function readCaptures(
  session: Session,
  paths: readonly string[],
): Promise<readonly NamedCapture[]> {
  const captures: NamedCapture[] = []
  for (const path of paths) {
    if (path === '-') captures.push(read('stdin', await text(session.stdin)))
    else captures.push(...fromPath(session, path))
  }
  return captures
}

function fromPath(session: Session, path: string): readonly NamedCapture[] {
  const { cwd } = session
  const full = resolve(cwd, path)
  const found = statOf(full)
  if (!found) throw new CliError('CAPTURE_MISSING', `${path} does not exist: check the path`)
  if (!found.isDirectory()) return [read(path, textOf(full, path))]
  const files = readdirSync(full)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => join(full, name))
  if (files.length === 0)
    throw new CliError(
      'CAPTURE_MISSING',
      `${path} contains no .json files: record deliveries with idv-webhooks capture --dir ${path}`,
    )
  const captures = files.flatMap((file) => readOrSkip(session, file))
  if (captures.length > 0) return captures
  throw new CliError('CAPTURE_MISSING', `${path} contains no captures`)
}

/** A file of a folder that is not a capture is reported and skipped. */
function readOrSkip(session: Session, full: string): readonly NamedCapture[] {
  const { cwd, out, ending } = session
  const file = relative(cwd, full)
  try {
    return [read(file, textOf(full, file))]
  } catch (error) {
    const message = reasonOf(error)
    ending.failed = true
    out.record({ type: 'unreadable', file, message })
    out.say(`${out.tint('red', 'skipped')} ${printable(message)}`)
    return []
  }
}

/** A pipe without a writer would hold the process for ever, and a device has no end. */
function textOf(full: string, path: string): string {
  if (!statOf(full)?.isFile()) {
    const message = `${path} is not a file: pass a file, or - to read stdin`
    throw new CliError('CAPTURE_INVALID', message)
  }
  return readFileSync(full, 'utf8')
}

function read(file: string, text: string): NamedCapture {
  const source = text.replace(/^\uFEFF/, '')
  if (!hasParts(source)) {
    const message = `${file} is not a capture: it must be JSON with \`headers\` and \`body\``
    throw new CliError('CAPTURE_INVALID', message)
  }
  try {
    return { ...readCapture(source), file, source }
  } catch (error) {
    if (!isWebhookError(error)) throw error
    throw CliError.from(error, { message: `${file}: ${error.reason}` })
  }
}

/** Whether a text has the two required fields; readCapture() says what is wrong with them. */
function hasParts(source: string): boolean {
  try {
    const json = Object(JSON.parse(source))
    return 'headers' in json && 'body' in json
  } catch {
    return false
  }
}
