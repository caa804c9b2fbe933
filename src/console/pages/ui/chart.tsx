// Stacked bars over time. What it shows is also there as a sentence, for those who do not see it.
/** @jsxImportSource preact */
import type { Tone } from './badge.tsx'

export interface Bar {
  readonly at: string
  readonly parts: readonly { readonly name: string; readonly tone: Tone; readonly count: number }[]
}

const width = 720
const height = 150
const foot = 18
const left = 34

interface ChartProps {
  readonly bars: readonly Bar[]
  readonly label: string
}

export function Chart({ bars, label }: ChartProps) {
  const sums = bars.map(({ parts }) => parts.reduce((sum, { count }) => sum + count, 0))
  const most = Math.max(1, ...sums)
  const total = sums.reduce((one, other) => one + other, 0)
  const step = (width - left) / bars.length
  const scale = (height - foot - 8) / most
  const first = bars[0]
  const last = bars.at(-1)
  return (
    <figure>
      <svg
        class="chart"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${label}: ${total}`}
      >
        {[0, 0.5, 1].map((part) => {
          const y = height - foot - part * most * scale
          return (
            <g key={part}>
              <line class="grid" x1={left} x2={width} y1={y} y2={y} />
              <text x={left - 6} y={y + 4} text-anchor="end">
                {most * part === Math.round(most * part) ? most * part : ''}
              </text>
            </g>
          )
        })}
        {bars.map((bar, at) => (
          <Stack key={bar.at} bar={bar} x={left + at * step} step={step} scale={scale} />
        ))}
        <text x={left} y={height - 4}>
          {first && clock(first.at)}
        </text>
        <text x={width} y={height - 4} text-anchor="end">
          {last && clock(last.at)}
        </text>
      </svg>
      <Legend bars={bars} />
    </figure>
  )
}

interface StackProps {
  readonly bar: Bar
  readonly x: number
  readonly step: number
  readonly scale: number
}

function Stack({ bar, x, step, scale }: StackProps) {
  let y = height - foot
  const words = bar.parts.filter(({ count }) => count > 0)
  if (words.length === 0) return null
  const title = words.map(({ name, count }) => `${count} ${name}`).join(', ')
  return (
    <g>
      <title>{`${clock(bar.at)}: ${title}`}</title>
      {words.map(({ name, tone, count }) => {
        y -= count * scale
        return (
          <rect
            key={name}
            class={tone}
            x={x + step * 0.12}
            y={y}
            width={step * 0.76}
            height={Math.max(1, count * scale)}
          />
        )
      })}
    </g>
  )
}

function Legend({ bars }: { readonly bars: readonly Bar[] }) {
  const names = new Map<string, { tone: Tone; count: number }>()
  for (const { name, tone, count } of bars.flatMap(({ parts }) => parts)) {
    names.set(name, { tone, count: count + (names.get(name)?.count ?? 0) })
  }
  const shown = [...names].filter(([, { count }]) => count > 0)
  return (
    <figcaption class="legend">
      {shown.map(([name, { tone, count }]) => (
        <span key={name}>
          <svg class="chart" viewBox="0 0 10 10" aria-hidden="true">
            <rect class={tone} width="10" height="10" rx="2" />
          </svg>
          {count.toLocaleString('en')} {name}
        </span>
      ))}
    </figcaption>
  )
}

function clock(at: string): string {
  const date = new Date(at)
  const today = new Date().toDateString() === date.toDateString()
  const time = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
  return today
    ? time
    : `${date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })} ${time}`
}
