// Stacked bars over time, with gridlines and the numbers of the bar under the pointer.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { clockTime, zone } from '../time.tsx'
import type { Tone } from './parts.tsx'

export interface Bar {
  readonly at: string
  readonly parts: readonly { readonly name: string; readonly tone: Tone; readonly count: number }[]
}

interface ChartProps {
  readonly bars: readonly Bar[]
  readonly label: string
}

export function Chart({ bars, label }: ChartProps) {
  const [hovered, hover] = useState<number | undefined>(undefined)
  const sums = bars.map(({ parts }) => parts.reduce((sum, { count }) => sum + count, 0))
  const top = topOf(Math.max(...sums))
  const total = sums.reduce((one, other) => one + other, 0)
  const bar = hovered === undefined ? undefined : bars[hovered]
  const find = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as SVGElement).getBoundingClientRect()
    const at = Math.floor(((event.clientX - left) / width) * bars.length)
    hover(Math.min(bars.length - 1, Math.max(0, at)))
  }
  return (
    <figure class="chart">
      <div class="scale" aria-hidden="true">
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{value.toLocaleString('en')}</span>
        ))}
      </div>
      {/* Stretched to its place: a bar is one wide, and as high as its share of the top. */}
      <svg
        class="bars"
        viewBox={`0 0 ${bars.length} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${total}`}
        onPointerMove={find}
        onPointerLeave={() => hover(undefined)}
      >
        {bar && <rect class="hovered" x={hovered} y={0} width={1} height={100} />}
        {[0, 50].map((y) => (
          <line key={y} x1={0} x2={bars.length} y1={y} y2={y} />
        ))}
        {bars.map((one, at) => (
          <Stack key={one.at} bar={one} x={at} scale={100 / top} />
        ))}
      </svg>
      <div class="ends" aria-hidden="true">
        {[0, 0.25, 0.5, 0.75].map((share) => (
          <span key={share}>{clockTime(bars[Math.floor(bars.length * share)]?.at ?? 0)}</span>
        ))}
        <span>{zone}</span>
      </div>
      <figcaption data-testid="chart-words">
        {bar ? <strong>{clockTime(bar.at)}</strong> : <strong>All</strong>}
        <Legend bars={bar ? [bar] : bars} />
      </figcaption>
    </figure>
  )
}

/** The smallest even number of 2, 4 or 10 times a power of ten that is not below a value. */
function topOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return [2, 4, 10].map((times) => times * power).find((one) => one >= value) ?? 2
}

interface StackProps {
  readonly bar: Bar
  readonly x: number
  readonly scale: number
}

function Stack({ bar, x, scale }: StackProps) {
  let y = 100
  return (
    <>
      {bar.parts.map(({ name, tone, count }) => {
        if (count === 0) return null
        const height = Math.max(0.7, count * scale)
        y -= height
        return <rect key={name} data-tone={tone} x={x + 0.12} y={y} width={0.76} height={height} />
      })}
    </>
  )
}

function Legend({ bars }: Pick<ChartProps, 'bars'>) {
  const names = new Map<string, { tone: Tone; count: number }>()
  for (const { name, tone, count } of bars.flatMap(({ parts }) => parts)) {
    names.set(name, { tone, count: count + (names.get(name)?.count ?? 0) })
  }
  const shown = [...names].filter(([, { count }]) => count > 0)
  if (shown.length === 0) return <span>none</span>
  return (
    <>
      {shown.map(([name, { tone, count }]) => (
        <span key={name}>
          <i data-tone={tone} aria-hidden="true" /> {count.toLocaleString('en')} {name}
        </span>
      ))}
    </>
  )
}
