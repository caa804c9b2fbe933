// The output of migrate code, for people and as JSON lines.
import { count, type Output, printable, printableSource } from '../../output.ts'
import type { MigratedFile } from './migrate-files.ts'
import { unifiedDiff } from './patch.ts'
import type { EndedFile, Totals } from './totals.ts'

function diffOf({ file, input, output }: MigratedFile): string {
  // Of a file outside of the current folder: neither tool accepts `a/../x`.
  const name = file.replaceAll('\\', '/').replace(/^(?:\.\.\/)+/, '')
  return unifiedDiff({ name, input, output })
}

/** How files are reported. */
export interface ReportOptions {
  readonly written: boolean
  /** Advice that was printed already; each is printed once. */
  readonly advised: Set<string>
}

/** Reports one file. */
export function reportFile(out: Output, one: EndedFile, { written, advised }: ReportOptions): void {
  const { file, edits, findings, error, left } = one
  if (left !== undefined) {
    out.record({ type: 'left', file, message: left })
    out.say(`${printable(file)}: ${out.tint('red', 'not changed')}: it ${left}`)
  } else if (edits.length > 0) {
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

/** How a run ended. */
export interface RunEnd {
  readonly written: boolean
  readonly interrupted: boolean
}

/** Reports the totals in one line. */
export function reportTotals(out: Output, totals: Totals, { written, interrupted }: RunEnd): void {
  const { changed, names, unchanged, findings, collisions, errors, left, missed } = totals
  out.record({ type: 'summary', ...totals, written, interrupted })
  const verb = written ? 'changed' : 'would change'
  const people = findings + collisions
  out.say(
    [
      `${verb} ${count(changed, 'file')} (${count(names, 'name')})`,
      `${unchanged} unchanged`,
      `${people} ${people === 1 ? 'needs' : 'need'} a person${collisions > 0 ? ` (${count(collisions, 'collision')})` : ''}`,
      count(errors, 'error'),
      ...(left > 0 ? [`${left} not written`] : []),
      ...(interrupted ? [`interrupted before ${count(missed, 'file')}`] : []),
    ].join(' · '),
  )
}

/** A program gets the exact patch; a terminal gets it without control characters. */
function colored(out: Output, diff: string): string {
  return diff
    .split('\n')
    .map((exact) => {
      const line = out.terminal ? printableSource(exact) : exact
      if (/^(---|\+\+\+) /.test(line)) return out.paint('bold', line)
      if (line.startsWith('-')) return out.paint('red', line)
      if (line.startsWith('+')) return out.paint('green', line)
      return line.startsWith('@@') ? out.paint('cyan', line) : line
    })
    .join('\n')
}
