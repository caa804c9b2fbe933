// The unified diff of a rename. Renames keep the lines of a file, so old and new are compared line by
// line: a search for the shortest difference takes minutes where thousands of lines have changed.
import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatch, structuredPatch } from 'diff'

/** A file before and after. */
export interface Change {
  readonly name: string
  readonly input: string
  readonly output: string
}

type Hunk = StructuredPatch['hunks'][number]

const context = 3
const unended = '\\ No newline at end of file'

/** A unified diff that `git apply` and `patch -p1` take. */
export function unifiedDiff(change: Change): string {
  return formatPatch(patchOf(change), FILE_HEADERS_ONLY)
}

/** The changed lines with those around them. */
function patchOf({ name, input, output }: Change): StructuredPatch {
  const names = { oldFileName: `a/${name}`, newFileName: `b/${name}` }
  const [before, after] = [linesOf(input), linesOf(output)]
  if (before.length !== after.length) {
    return structuredPatch(names.oldFileName, names.newFileName, input, output, '', '', { context })
  }
  const hunks = rangesOf(before, after).map(([from, to]) => hunkOf({ before, after, from, to }))
  return { ...names, oldHeader: '', newHeader: '', hunks }
}

/** Lines with their ends, so that a last line without one differs from the same with one. */
function linesOf(text: string): readonly string[] {
  return text.split(/(?<=\n)/)
}

/** The ranges of lines that the hunks show; changes that are close share one. */
function rangesOf(
  before: readonly string[],
  after: readonly string[],
): readonly [number, number][] {
  const ranges: [from: number, to: number][] = []
  for (const [at, line] of before.entries()) {
    if (line === after[at]) continue
    const last = ranges.at(-1)
    const to = Math.min(before.length, at + context + 1)
    if (last && at - context <= last[1]) last[1] = to
    else ranges.push([Math.max(0, at - context), to])
  }
  return ranges
}

interface Range {
  readonly before: readonly string[]
  readonly after: readonly string[]
  readonly from: number
  readonly to: number
}

function hunkOf({ before, after, from, to }: Range): Hunk {
  const lines: string[] = []
  let added: string[] = []
  for (let at = from; at < to; at++) {
    const [old = '', now = ''] = [before[at], after[at]]
    if (old === now) {
      lines.push(...added, ...marked(' ', old))
      added = []
    } else {
      lines.push(...marked('-', old))
      added.push(...marked('+', now))
    }
  }
  const size = { oldStart: from + 1, oldLines: to - from, newStart: from + 1, newLines: to - from }
  return { ...size, lines: [...lines, ...added] }
}

function marked(mark: string, line: string): readonly string[] {
  return line.endsWith('\n') ? [`${mark}${line.slice(0, -1)}`] : [`${mark}${line}`, unended]
}
