// Stacked bars over time, with gridlines and the numbers of the bar under the pointer.
import { useState } from 'preact/hooks'
import type { EntryState } from '../../../../src/inbox/entry.ts'
import type { Bucket } from '../../inbox-history.ts'
import { clockTime, zone } from '../time.tsx'
import { stateWords, toneOf } from './parts.tsx'

interface ChartProps {
  readonly bars: readonly Bucket[]
  readonly states: readonly EntryState[]
  readonly label: string
}

export function Chart({ bars, states, label }: ChartProps) {
  const [hovered, hover] = useState<Bucket | undefined>(undefined)
  const totalOf = (some: readonly Bucket[], ...of: readonly EntryState[]) =>
    some.reduce((sum, { counts }) => of.reduce((all, state) => all + (counts[state] ?? 0), sum), 0)
  const top = topOf(Math.max(...bars.map((bar) => totalOf([bar], ...states))))
  const shown = hovered ? [hovered] : bars
  const named = states.filter((state) => totalOf(shown, state) > 0)
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
        aria-label={`${label}: ${totalOf(bars, ...states)}`}
        onPointerLeave={() => hover(undefined)}
      >
        {[0, 50].map((y) => (
          <line key={y} x1={0} x2={bars.length} y1={y} y2={y} />
        ))}
        {bars.map((bar, x) => (
          <g key={bar.at} onPointerEnter={() => hover(bar)}>
            <rect class="column" x={x} width={1} height={100} />
            {states.map((state, at) => {
              const height = (100 * totalOf([bar], state)) / top
              const y = 100 - (100 * totalOf([bar], ...states.slice(0, at + 1))) / top
              const place = { x: x + 0.12, y, width: 0.76, height }
              return height > 0 && <rect key={state} data-tone={toneOf(state)} {...place} />
            })}
          </g>
        ))}
      </svg>
      <div class="ends" aria-hidden="true">
        {[0, 0.25, 0.5, 0.75].map((share) => (
          <span key={share}>{clockTime(bars[Math.floor(bars.length * share)]?.at ?? 0)}</span>
        ))}
        <span>{zone}</span>
      </div>
      <figcaption data-testid="chart-words">
        <strong>{hovered ? clockTime(hovered.at) : 'All'}</strong>
        {named.length === 0 && 'none'}
        {named.map((state) => (
          <span key={state}>
            <i data-tone={toneOf(state)} aria-hidden="true" />{' '}
            {totalOf(shown, state).toLocaleString('en')} {stateWords(state)}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

/** The smallest of 2, 4 or 10 times a power of ten that is not below a value. */
function topOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return [2, 4, 10].map((times) => times * power).find((one) => one >= value) ?? 2
}
