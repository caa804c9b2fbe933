// Many files' rewriting: reads each strictly, so that what is written back differs in the names alone.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { setsItselfAside } from './ignore-comments.ts'
import type { PathOptions } from './paths.ts'
import { type Edit, type Finding, rewriteSource } from './rewrite.ts'

/** Why a file was not read, and where that is known. */
export interface UnreadableFile {
  readonly message: string
  readonly line?: number
  readonly column?: number
}

/** What became of one file; `output` is its new text, where that differs. */
export interface MigratedFile {
  /** As the caller would write it. */
  readonly file: string
  readonly path: string
  readonly input: string
  readonly output: string
  readonly edits: readonly Edit[]
  readonly findings: readonly Finding[]
  /** Why it could not be read or parsed. */
  readonly error?: UnreadableFile
}

/** Looks at one file; never throws for what stands in it. */
export function migrateFile(cwd: string, path: string, paths?: PathOptions): MigratedFile {
  const file = relative(cwd, path)
  const empty = { file, path, input: '', output: '', edits: [], findings: [] }
  let bytes: Uint8Array
  try {
    bytes = readFileSync(path)
  } catch {
    return { ...empty, error: { message: 'cannot be read' } }
  }
  const input = decode(bytes)
  if (input === undefined) {
    return isOfNoInterest(bytes) ? empty : { ...empty, error: { message: 'is not UTF-8' } }
  }
  try {
    const rewritten = rewriteSource(input, path, paths)
    // Texts that stay as they are need not be kept.
    return rewritten.edits.length > 0
      ? { file, path, input, ...rewritten }
      : { ...empty, findings: rewritten.findings }
  } catch (error) {
    return setsItselfAside(input) ? empty : { ...empty, error: syntaxFault(error) }
  }
}

/** A byte order mark stays a letter of the text, so that it is written back. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A file that is no UTF-8 is an error only where it spells the word, in UTF-16 too. */
function isOfNoInterest(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString('latin1').replaceAll('\0', '')
  return !/request/i.test(text) || setsItselfAside(text)
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
