// Stacked bars over time, as wide as their place. What they show is also there as words, for those
// who do not see them.
/** @jsxImportSource preact */
import type { Tone } from './badge.tsx'

export interface Bar {
  readonly at: string
  readonly parts: readonly { readonly name: string; readonly tone: Tone; readonly count: number }[]
}

interface ChartProps {
  readonly bars: readonly Bar[]
  readonly label: string
}

export function Chart({ bars, label }: ChartProps) {
  const sums = bars.map(({ parts }) => parts.reduce((sum, { count }) => sum + count, 0))
  const most = Math.max(1, ...sums)
  const total = sums.reduce((one, other) => one + other, 0)
  const first = bars[0]
  const last = bars.at(-1)
  return (
    <figure class="chart">
      <div class="scale" aria-hidden="true">
        <span>{most.toLocaleString('en')}</span>
        <span>0</span>
      </div>
      {/* Stretched to its place: a bar is one wide, and as high as its share of the highest. */}
      <svg
        class="bars"
        viewBox={`0 0 ${bars.length} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${total}`}
      >
        {bars.map((bar, at) => (
          <Stack key={bar.at} bar={bar} x={at} scale={100 / most} />
        ))}
      </svg>
      <div class="ends" aria-hidden="true">
        <span>{first && clock(first.at)}</span>
        <span>{last && clock(last.at)}</span>
      </div>
      <Legend bars={bars} />
    </figure>
  )
}

interface StackProps {
  readonly bar: Bar
  readonly x: number
  readonly scale: number
}

function Stack({ bar, x, scale }: StackProps) {
  const parts = bar.parts.filter(({ count }) => count > 0)
  if (parts.length === 0) return null
  const title = parts.map(({ name, count }) => `${count} ${name}`).join(', ')
  let y = 100
  return (
    <g>
      <title>{`${clock(bar.at)}: ${title}`}</title>
      {parts.map(({ name, tone, count }) => {
        y -= count * scale
        return (
          <rect
            key={name}
            data-tone={tone}
            x={x + 0.12}
            y={y}
            width={0.76}
            height={Math.max(0.7, count * scale)}
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
          <i data-tone={tone} aria-hidden="true" />
          {count.toLocaleString('en')} {count === 1 ? name.replace(/letters$/, 'letter') : name}
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
