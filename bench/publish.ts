// Writes published tables into docs/performance.md, each between its marks and under a line that
// says where its figures come from.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Confirmed, Published, Report } from './section.ts'
import { shown } from './table.ts'

const page = join(import.meta.dirname, '../docs/performance.md')

export interface Origin {
  /** The major version of the Node that measured. */
  readonly node: string
  /** Machine and date. */
  readonly machine: string
  /** The version of the package. */
  readonly version: string
}

export function publish(
  tables: readonly Published[],
  reports: readonly Report[],
  { node, machine, version }: Origin,
): void {
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' })
  const caption = `idv-webhooks ${version} at ${commit.trim()}, ${machine}.`
  let text = readFileSync(page, 'utf8')
  for (const table of tables) {
    const mark = `<!-- bench: ${table.name} on Node ${node} -->\n`
    const start = text.indexOf(mark) + mark.length
    const end = text.indexOf('<!-- end -->', start)
    const chosen = reports.filter(({ id }) => table.sections.test(id))
    if (start < mark.length || end < 0 || chosen.length === 0) continue
    const lines = [caption, '', ...linesOf(table, chosen), '', '']
    text = text.slice(0, start) + lines.join('\n') + text.slice(end)
  }
  writeFileSync(page, text)
}

/** A row for each chosen row of each report; or, if there is one column, a column for each report. */
function linesOf({ rows, columns }: Published, reports: readonly Report[]): string[] {
  const [first] = reports
  const labels = columns.map((key) => first?.columns.find((one) => one.key === key)?.label ?? key)
  const unit = first?.columns.find(({ key }) => key === columns[0])?.unit ?? 'ratio'
  const shownAs = (cell: Confirmed | undefined) =>
    cell ? (cell.value === undefined ? rangeOf(cell) : shown(unit, cell.value)) : '–'
  const rangeOf = ({ found }: Confirmed) =>
    `${shown(unit, Math.min(...found))} to ${shown(unit, Math.max(...found))}`
  const header = (cells: readonly string[]) => [
    `| | ${cells.join(' | ')} |`,
    `|---|${cells.map(() => '---:|').join('')}`,
  ]
  const line = (name: string, cells: readonly string[]) => `| ${name} | ${cells.join(' | ')} |`
  const [only] = columns
  if (only !== undefined && columns.length === 1 && reports.length > 1) {
    const names = (first?.rows ?? []).map(({ name }) => name).filter((name) => rows.test(name))
    const cellOf = ({ rows: all }: Report, name: string) =>
      shownAs(all.find((row) => row.name === name)?.cells[only])
    const found = names.map((name) =>
      line(
        name,
        reports.map((report) => cellOf(report, name)),
      ),
    )
    return [...header(reports.map(({ title }) => shortOf(title))), ...found]
  }
  const all = reports.flatMap((report) =>
    report.rows
      .filter(({ name }) => rows.test(name))
      .map(({ name, cells }) => {
        const what = reports.length === 1 ? name : shortOf(report.title)
        return line(
          what,
          columns.map((key) => shownAs(cells[key])),
        )
      }),
  )
  return [...header(labels), ...all]
}

/** "In process, everything, 2K (2,048 bytes)": everything, 2K. */
const shortOf = (title: string) => title.replace(/^.*?, /, '').replace(/ \(.*/, '')
