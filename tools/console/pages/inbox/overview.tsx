// How the inbox is doing: what needs attention, events over time, failures, and each handler's times.
import { useEffect, useState } from 'preact/hooks'
import type { InboxStats } from '../../../../src/inbox/admin.ts'
import type { EntryState, Entry as InboxEntry } from '../../../../src/inbox/entry.ts'
import type { Bucket, HandlerRow, History } from '../../inbox-routes.ts'
import { filter, href, route } from '../route.ts'
import { at, config, stats, useLoad } from '../server.ts'
import { clockTime, duration, setServerClock, since, spans, Time, zone } from '../time.tsx'
import { type Column, TableCard } from '../ui/list.tsx'
import {
  Badge,
  Card,
  Failed,
  Figure,
  Page,
  Select,
  Status,
  stateWords,
  toneOf,
} from '../ui/parts.tsx'

type TimesAsText<Value> = {
  readonly [Key in keyof Value]: Value[Key] extends Date | undefined ? string : Value[Key]
}
/** An entry as the routes give it: its times are text. */
export type InboxRow = TimesAsText<InboxEntry>

interface InboxOverview {
  readonly stats: InboxStats
  readonly now: string
  readonly history: History
  /** The newest dead letters and entries that wait for a retry. */
  readonly failing: readonly InboxRow[]
}

export const api = `${config.base}/api`

export const overviewOf = (span: string) =>
  at<InboxOverview>(`${api}/overview?span=${span}`, ['changed'])

/** In the order of attention that they need. */
export const states = ['dead', 'retry', 'stored', 'leased', 'done', 'skipped'] as const

export const nameOf = ({ name, receivedName }: InboxRow) => name ?? receivedName ?? 'unreadable'

/** The type and the beginning of the id: enough to tell rows apart. */
export function shortEntity({ entity, eventId }: InboxRow): string | undefined {
  return entity ? `${entity.type}:${entity.id.slice(0, 8)}` : eventId
}

/** The state of an entry, and whether it failed after it was redriven or replayed. */
export function EntryStatus({ of: { state, generation } }: { readonly of: InboxRow }) {
  const hasFailedAgain = generation > 0 && (state === 'dead' || state === 'retry')
  return (
    <>
      <Status of={state} /> {hasFailedAgain && <Badge tone="bad" words="failed again" />}
    </>
  )
}

export function OverviewPage() {
  const span = route.value.query.get('span') ?? '1h'
  const { data, problem } = useLoad(overviewOf(span))
  useEffect(() => {
    if (data) setServerClock(data.now, false)
  }, [data])
  const choose = (one: string) => filter({ span: one === '1h' ? undefined : one })
  const [words] = spans[span] ?? ['last hour']
  return (
    <Page
      title="Overview"
      actions={
        <Select
          label="Span"
          value={span}
          choices={since('Span').choices.slice(1)}
          onChange={choose}
        />
      }
    >
      <Failed problem={problem} />
      {data && (
        <>
          <Figures of={stats.value ?? data.stats} />
          <Events of={data.history} title={`Events in the ${words}, by outcome`} />
          <TableCard
            label="Recent failures"
            items={data.failing}
            columns={failureColumns}
            hrefOf={({ id }) => href(['entries', id])}
            none="None."
          />
          <TableCard
            label={`By handler, in the ${words}`}
            items={data.history.handlers}
            columns={handlerColumns}
            idOf={({ handler }) => handler}
            hrefOf={({ handler }) => href(['entries'], { handler })}
            none="No handler ran."
          />
        </>
      )}
    </Page>
  )
}

/** Lag and age grow also while nothing happens. */
function Figures({ of }: { readonly of: InboxStats }) {
  const { dead, lag, oldestAge } = of
  return (
    <div class="figures">
      {states.map((state) => (
        <Figure
          key={state}
          name={state === 'dead' && dead !== 1 ? 'dead letters' : stateWords(state)}
          value={of[state]}
          isBad={state === 'dead' && dead > 0}
          href={href(['entries'], { state })}
        />
      ))}
      <Figure name="lag" value={duration(lag)} />
      <Figure name="oldest pending" value={duration(oldestAge)} />
    </div>
  )
}

function Events({ of, title }: { readonly of: History; readonly title: string }) {
  const { buckets, width, readBackTo } = of
  const any = buckets.some(({ counts }) => Object.keys(counts).length > 0)
  const unit = duration(width).replace(/^1 /, '').replace(/^min$/, 'minute')
  return (
    <Card title={title} actions={<span class="hint">per {unit}</span>}>
      {any ? (
        <Chart label={title} bars={buckets} states={states} />
      ) : (
        <p class="muted">
          Nothing arrived. Deliveries appear here as soon as your receiver accepts them, and under
          Entries with their outcome.
        </p>
      )}
      {readBackTo && (
        <p class="hint">
          Only the newest 5,000 are counted, back to <Time at={readBackTo} />.
        </p>
      )}
    </Card>
  )
}

const failureColumns: readonly Column<InboxRow>[] = [
  { head: 'State', cell: (one) => <EntryStatus of={one} /> },
  { head: 'Event', kind: 'main', cell: nameOf },
  { head: 'Reason', cell: ({ reason }) => reason && <code>{reason}</code> },
  { head: 'Entity', kind: 'more', cell: (one) => <code>{shortEntity(one)}</code> },
  {
    head: 'Handler',
    cell: ({ failures }) => failures.map(({ handler, error }) => `${handler}: ${error}`).join(', '),
  },
  { head: 'Received', kind: 'end', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
]

const handlerColumns: readonly Column<HandlerRow>[] = [
  { head: 'Handler', kind: 'main', cell: ({ handler }) => handler },
  { head: 'Done', cell: ({ entries }) => entries ?? 0 },
  { head: 'p50', cell: ({ p50 }) => duration(p50) },
  { head: 'p95', cell: ({ p95 }) => duration(p95) },
  {
    head: 'Failures',
    kind: 'end',
    cell: ({ failed }) => (failed ? <Badge tone="bad" words={failed} /> : 0),
  },
]

interface ChartProps {
  readonly bars: readonly Bucket[]
  readonly states: readonly EntryState[]
  readonly label: string
}

function Chart({ bars, states, label }: ChartProps) {
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
