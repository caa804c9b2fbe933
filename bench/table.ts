// A report as Markdown: one table, what was not confirmed, and which targets are reached.
import type { Column, Confirmed, Report } from './section.ts'

export function toMarkdown(report: Report): string {
  const { title, note, text, columns, rows } = report
  const lines = [
    `### ${title}`,
    '',
    ...(note ? [note, ''] : []),
    ...(text ? ['```', text.trimEnd(), '```', ''] : []),
    `| | ${columns.map(({ label }) => label).join(' | ')} |`,
    `|---|${columns.map(() => '---:|').join('')}`,
    ...rows.map(({ name, ours, cells }) => {
      const shown = columns.map((column) => cell(column, cells[column.key]))
      return `| ${ours ? `**${name}**` : name} | ${shown.join(' | ')} |`
    }),
  ]
  const targets = targetLines(report)
  return [...lines, ...(targets.length > 0 ? ['', ...targets] : []), ''].join('\n')
}

export interface Verdict {
  readonly what: string
  readonly ok: boolean
}

export function verdicts({ title, rows, columns, targets = [] }: Report): Verdict[] {
  return targets.map(({ row, column, atLeast, atMost }) => {
    const found = rows.find(({ name }) => name === row)?.cells[column]
    const shape = columns.find(({ key }) => key === column)
    const is = shape ? cell(shape, found) : '–'
    const should = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`
    const value = found?.value
    const ok =
      value !== undefined &&
      value >= (atLeast ?? Number.NEGATIVE_INFINITY) &&
      value <= (atMost ?? Number.POSITIVE_INFINITY)
    return { ok, what: `${title}, ${row}, ${shape?.label}: ${is} (should be ${should})` }
  })
}

function targetLines(report: Report): string[] {
  return verdicts(report).map(({ ok, what }) => `- ${ok ? 'reached' : '**missed**'}: ${what}`)
}

function cell({ unit }: Column, confirmed: Confirmed | undefined): string {
  if (!confirmed) return '–'
  const { value, found } = confirmed
  if (value === undefined) {
    return `not confirmed (${found.map((one) => shown(unit, one)).join(' / ')})`
  }
  return shown(unit, value)
}

export function shown(unit: Column['unit'], value: number): string {
  if (unit === 'ratio') return value >= 10 ? value.toFixed(1) : value.toFixed(2)
  if (unit === 'count' || unit === 'bytes') return Math.round(value).toLocaleString('en-US')
  const size = Math.abs(value)
  return size >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
}
