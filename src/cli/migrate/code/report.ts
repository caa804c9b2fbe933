// What migrate code says: for people, as JSON lines, or as SARIF for code scanning.
import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff'
import { count, type Output, printable } from '../../output.ts'
import type { MigratedFile } from './migrate-files.ts'

/** How many files ended how. */
export interface Totals {
  readonly changed: number
  readonly names: number
  readonly unchanged: number
  readonly findings: number
  readonly collisions: number
  readonly errors: number
}

export function totalsOf(files: readonly MigratedFile[]): Totals {
  const findings = files.flatMap((file) => file.findings)
  const collisions = findings.filter(({ kind }) => kind === 'collision').length
  const changed = files.filter(({ edits }) => edits.length > 0).length
  return {
    changed,
    names: files.flatMap(({ edits }) => edits).length,
    unchanged: files.filter(({ edits, error }) => edits.length === 0 && !error).length,
    findings: findings.length - collisions,
    collisions,
    errors: files.filter(({ error }) => error).length,
  }
}

/** A unified diff that `git apply` and `patch -p1` take. */
export function diffOf({ file, input, output }: MigratedFile): string {
  const name = file.replaceAll('\\', '/')
  const patch = structuredPatch(`a/${name}`, `b/${name}`, input, output, '', '', { context: 3 })
  return formatPatch(patch, FILE_HEADERS_ONLY)
}

/** How files are told. */
export interface Telling {
  readonly written: boolean
  /** What was already advised: each advice is given once. */
  readonly advised: Set<string>
}

/** Tells one file. */
export function tellFile(out: Output, one: MigratedFile, { written, advised }: Telling): void {
  const { file, edits, findings, error } = one
  if (edits.length > 0) {
    out.record({ type: 'file', file, edits, written })
    if (written) out.data(`${printable(file)}: ${count(edits.length, 'name')} renamed`)
    else out.data(colored(out, diffOf(one)).replace(/\n$/, ''))
  }
  for (const finding of findings) {
    const { kind, line, column, text, suggestion } = finding
    out.record({ type: kind === 'collision' ? 'collision' : 'finding', file, ...finding })
    const color = kind === 'collision' ? 'red' : 'yellow'
    out.say(`${printable(file)}:${line}:${column}: ${out.tint(color, kind)} ${printable(text)}`)
    if (!advised.has(suggestion)) out.say(`  ${suggestion}`)
    advised.add(suggestion)
  }
  if (!error) return
  out.record({ type: 'unreadable', file, ...error })
  const place = error.line === undefined ? '' : `:${error.line}:${error.column}`
  out.say(`${printable(file)}${place}: ${out.tint('red', 'error')} ${printable(error.message)}`)
}

/** Tells all of them in a line. */
export function tellTotals(out: Output, totals: Totals, written: boolean): void {
  const { changed, names, unchanged, findings, collisions, errors } = totals
  out.record({ type: 'summary', ...totals, written })
  const verb = written ? 'changed' : 'would change'
  const people = findings + collisions
  out.say(
    [
      `${verb} ${count(changed, 'file')} (${count(names, 'name')})`,
      `${unchanged} unchanged`,
      `${people} ${people === 1 ? 'needs' : 'need'} a human${collisions > 0 ? ` (${count(collisions, 'collision')})` : ''}`,
      count(errors, 'error'),
    ].join(' · '),
  )
}

function colored(out: Output, diff: string): string {
  return diff
    .split('\n')
    .map((line) => {
      if (/^(---|\+\+\+) /.test(line)) return out.paint('bold', line)
      if (line.startsWith('-')) return out.paint('red', line)
      if (line.startsWith('+')) return out.paint('green', line)
      return line.startsWith('@@') ? out.paint('cyan', line) : line
    })
    .join('\n')
}
