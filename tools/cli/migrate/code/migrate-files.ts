// Reads a file strictly and rewrites it, so that the new text differs in the names only.
import { readFileSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import type { Edit, Finding } from './finding.ts'
import { ignoresItself } from './ignore-comments.ts'
import type { PathOptions } from './paths.ts'
import { rewriteSource } from './rewrite.ts'
import { kindOf } from './syntax.ts'

/** Why a file was not read, and where that is known. */
export interface UnreadableFile {
  readonly message: string
  readonly line?: number
  readonly column?: number
}

/** The result for one file; `output` is its new text if it differs. */
export interface MigratedFile {
  /** Relative to the current folder. */
  readonly file: string
  readonly path: string
  readonly input: string
  readonly output: string
  readonly edits: readonly Edit[]
  readonly findings: readonly Finding[]
  /** Why it could not be read or parsed. */
  readonly error?: UnreadableFile
}

/** Larger files are data, not something that a person maintains. */
const maxTextBytes = 1024 * 1024

/** Larger code is generated, and its syntax tree takes more than a hundred times its size. */
const maxCodeBytes = 8 * 1024 * 1024

/** Larger files are not even looked into. */
const maxBytes = 64 * 1024 * 1024

/** Migrates one file; never throws because of its content. */
export function migrateFile(cwd: string, path: string, paths?: PathOptions): MigratedFile {
  const file = relative(cwd, path)
  const empty = { file, path, input: '', output: '', edits: [], findings: [] }
  let bytes: Uint8Array
  try {
    if (statSync(path).size > maxBytes) return tooLarge(empty, path)
    bytes = readFileSync(path)
  } catch {
    return { ...empty, error: { message: 'cannot be read' } }
  }
  const isCode = kindOf(path) === 'code'
  if (!isCode && (bytes.length > maxTextBytes || bytes.includes(0))) return empty
  if (bytes.length > maxCodeBytes) return isIrrelevant(bytes) ? empty : tooLarge(empty, path)
  const input = decode(bytes)
  if (input === undefined) {
    return !isCode || isIrrelevant(bytes) ? empty : { ...empty, error: { message: 'is not UTF-8' } }
  }
  try {
    const rewritten = rewriteSource(input, path, paths)
    // Unchanged texts are not kept in memory.
    return rewritten.edits.length > 0
      ? { file, path, input, ...rewritten }
      : { ...empty, findings: rewritten.findings }
  } catch (error) {
    return ignoresItself(input) ? empty : { ...empty, error: syntaxFault(error) }
  }
}

/** Data of that size is passed over, as smaller data is. */
function tooLarge(file: MigratedFile, path: string): MigratedFile {
  const error = { message: 'is larger than 8 MiB: leave it out with --exclude' }
  return kindOf(path) === 'code' ? { ...file, error } : file
}

/** A byte order mark stays part of the text, so that it is written back. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A file that cannot be parsed is an error only if it contains the word, also in UTF-16. */
function isIrrelevant(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString('latin1').replaceAll('\0', '')
  return !/request/i.test(text) || ignoresItself(text)
}

function syntaxFault(error: unknown): UnreadableFile {
  const { message = 'cannot be parsed', loc } = error as {
    readonly message?: string
    readonly loc?: { readonly line: number; readonly column: number }
  }
  const [first = ''] = message.split('\n', 1)
  const place = loc && { line: loc.line, column: loc.column + 1 }
  return { message: first.replace(/ \(\d+:\d+\)$/, ''), ...place }
}
