// Many files' rewriting: reads each strictly, so that what is written back differs in the names alone.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { PathOptions } from './paths.ts'
import { type Edit, type Finding, rewriteSource } from './rewrite.ts'

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
  readonly error?: { readonly message: string; readonly line?: number; readonly column?: number }
}

/** Looks at one file; never throws for what stands in it. */
export function migrateFile(cwd: string, path: string, paths?: PathOptions): MigratedFile {
  const file = relative(cwd, path)
  const empty = { file, path, input: '', output: '', edits: [], findings: [] }
  let input: string
  try {
    // A byte order mark stays a letter of the text, so that it is written back.
    input = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
  } catch (error) {
    const unreadable = error instanceof TypeError ? 'is not UTF-8' : 'cannot be read'
    return { ...empty, error: { message: unreadable } }
  }
  try {
    return { file, path, input, ...rewriteSource(input, path, paths) }
  } catch (error) {
    return { ...empty, error: syntaxFault(error) }
  }
}

function syntaxFault(error: unknown): NonNullable<MigratedFile['error']> {
  const { message = 'cannot be parsed', loc } = error as {
    readonly message?: string
    readonly loc?: { readonly line: number; readonly column: number }
  }
  const [first = ''] = message.split('\n', 1)
  const place = loc && { line: loc.line, column: loc.column + 1 }
  return { message: first.replace(/ \(\d+:\d+\)$/, ''), ...place }
}
