// A report as a bar chart in SVG: one bar a row, whiskers from the lowest to the highest run.
import type { Report } from './section.ts'
import { shown } from './table.ts'

const width = 760
const label = 300
const bar = 22
const gap = 8

export function toSvg(report: Report, origin: string): string | undefined {
  const column = report.columns.find(({ key }) => key === report.chart)
  if (!column) return undefined
  const rows = report.rows.flatMap(({ name, ours, cells }) => {
    const cell = cells[column.key]
    return cell?.value === undefined ? [] : [{ name, ours, value: cell.value, found: cell.found }]
  })
  if (rows.length === 0) return undefined
  const most = Math.max(...rows.flatMap(({ value, found }) => [value, ...found]))
  const room = width - label - 80
  const x = (value: number) => label + (value / most) * room
  const top = 56
  const height = top + rows.length * (bar + gap) + 44
  const bars = rows.map(({ name, ours, value, found }, at) => {
    const y = top + at * (bar + gap)
    const middle = y + bar / 2
    const [low, high] = [Math.min(...found), Math.max(...found)]
    return [
      `<text x="${label - 8}" y="${middle}" text-anchor="end" class="${ours ? 'ours' : ''}">${escaped(name)}</text>`,
      `<rect x="${label}" y="${y}" width="${round(x(value) - label)}" height="${bar}" class="${ours ? 'own' : 'other'}"/>`,
      `<path d="M${round(x(low))} ${middle}H${round(x(high))}" class="spread"/>`,
      `<text x="${round(x(Math.max(value, high)) + 8)}" y="${middle}">${shown(column.unit, value)}</text>`,
    ].join('')
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(`${report.title}: ${column.label}`)}</title>`,
    style,
    `<rect width="${width}" height="${height}" class="ground"/>`,
    `<text x="16" y="24" class="title">${escaped(report.title)}</text>`,
    `<text x="16" y="42" class="small">${escaped(column.label)}</text>`,
    ...bars,
    `<text x="16" y="${height - 16}" class="small">${escaped(origin)}</text>`,
    '</svg>',
    '',
  ].join('\n')
}

const style = `<style>
text{font:13px system-ui,sans-serif;fill:#1f2328;dominant-baseline:middle}
.title{font-weight:600;font-size:15px}.small{font-size:11px;fill:#59636e}.ours{font-weight:600}
.ground{fill:#fff}.own{fill:#0969da}.other{fill:#afb8c1}.spread{stroke:#1f2328;stroke-width:2}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.ground{fill:#0d1117}
.own{fill:#4493f8}.other{fill:#59636e}.spread{stroke:#f0f6fc}}
</style>`

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
