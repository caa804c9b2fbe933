// Comments that exclude code from the migration: `idv-webhooks-ignore` for its own line or the next
// one, `idv-webhooks-ignore-file` for the whole file.
import type { SyntaxComment } from './syntax.ts'

/** The lines to leave unchanged. */
export interface Ignored {
  readonly all: boolean
  /** Lines, from 1. */
  readonly lines: ReadonlySet<number>
}

export function ignoredLines(text: string, comments: readonly SyntaxComment[]): Ignored {
  const lines = new Set<number>()
  let all = false
  for (const { value, start, end } of comments) {
    if (/\bidv-webhooks-ignore-file\b/.test(value)) all = true
    else if (/\bidv-webhooks-ignore\b/.test(value)) {
      lines.add(lineAt(text, start))
      // A comment on a line of its own applies to the next line.
      const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
      if (/^[\s{]*$/.test(before)) lines.add(lineAt(text, end) + 1)
    }
  }
  return { all, lines }
}

/** Whether a text that cannot be parsed has the comment for a whole file, outside of strings. */
export function ignoresItself(text: string): boolean {
  return text.split(/[\n\r]/).some((line) => {
    const last = [...line.matchAll(/\bidv-webhooks-ignore-file\b/g)].at(-1)
    if (!last) return false
    const [before = ''] = line.slice(0, last.index).split(/['"`]/, 1)
    return /\/\/|\/\*|<!--|^\s*\*/.test(before)
  })
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split(/\r\n|[\n\r\u2028\u2029]/).length
}
