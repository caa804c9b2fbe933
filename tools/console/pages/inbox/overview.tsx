// How the inbox is doing: what needs attention, events over time, failures, and each handler's times.
/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import type { HandlerLatency, InboxStats } from '../../../../src/inbox/admin.ts'
import { listen, useLoad } from '../load.ts'
import { filter, href, route } from '../route.ts'
import { duration, setServerClock, Time } from '../time.tsx'
import { Chart } from '../ui/chart.tsx'
import {
  Badge,
  Card,
  Empty,
  Failed,
  Figure,
  Page,
  Select,
  Status,
  stateWords,
  toneOf,
} from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { hasFailedAgain, type InboxOverview, type InboxRow, overviewOf, states } from './records.ts'

const spans: Readonly<Record<string, string>> = {
  '1h': 'the last hour',
  '24h': 'the last day',
  '7d': 'the last week',
}

export function OverviewPage() {
  const span = route.value.query.get('span') ?? '1h'
  const { data, problem } = useLoad(overviewOf(span))
  // Lag and age grow also while nothing happens.
  const [stats, setStats] = useState<InboxStats | undefined>(undefined)
  useEffect(() => listen<InboxStats>('stats', setStats), [])
  useEffect(() => {
    if (data) setServerClock(data.now, false)
  }, [data])
  return (
    <Page
      title="Overview"
      actions={
        <Select
          label="Span"
          value={span}
          choices={Object.entries(spans)}
          onChange={(one) => filter({ span: one === '1h' ? undefined : one })}
        />
      }
    >
      <Failed problem={problem} />
      {data && (
        <>
          <Figures stats={stats ?? data.stats} />
          <Events of={data} words={spans[span] ?? 'the last hour'} />
          <Card title="Recent failures">
            <Failures of={data} />
          </Card>
          <Card title={`By handler, in ${spans[span]}`}>
            <Handlers of={data} />
          </Card>
        </>
      )}
    </Page>
  )
}

function Figures({ stats }: { readonly stats: InboxStats }) {
  return (
    <div class="figures">
      {states.map((state) => (
        <Figure
          key={state}
          name={state === 'dead' && stats.dead !== 1 ? 'dead letters' : stateWords(state)}
          value={stats[state]}
          tone={state === 'dead' && stats.dead > 0 ? 'bad' : undefined}
          href={href(['entries'], { state })}
        />
      ))}
      <Figure name="lag" value={duration(stats.lag)} />
      <Figure
        name="oldest pending"
        value={stats.oldestAge === undefined ? '–' : duration(stats.oldestAge)}
      />
    </div>
  )
}

interface EventsProps {
  readonly of: InboxOverview
  readonly words: string
}

function Events({ of: { history }, words }: EventsProps) {
  const { buckets, width, readBackTo } = history
  const any = buckets.some(({ counts }) => Object.keys(counts).length > 0)
  const title = `Events in ${words}, by outcome`
  return (
    <Card title={title} actions={<span class="hint">per {duration(width)}</span>}>
      {any ? (
        <Chart
          label={title}
          bars={buckets.map(({ at, counts }) => ({
            at,
            parts: states.map((state) => ({
              name: stateWords(state),
              tone: toneOf(state),
              count: counts[state] ?? 0,
            })),
          }))}
        />
      ) : (
        <Empty title="Nothing arrived">
          <p>
            Deliveries appear here as soon as your receiver accepts them, and under Entries with
            their outcome.
          </p>
        </Empty>
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
  { head: 'State', cell: ({ state }) => <Status of={state} /> },
  {
    head: 'Event',
    kind: 'main',
    cell: ({ name, receivedName }) => name ?? receivedName ?? 'unreadable',
  },
  {
    head: 'Reason',
    cell: (one) => (
      <>
        <code>{one.reason}</code> {hasFailedAgain(one) && <Badge tone="bad">failed again</Badge>}
      </>
    ),
  },
  {
    head: 'Handler',
    cell: ({ failures }) => failures.map(({ handler, error }) => `${handler}: ${error}`).join(', '),
  },
  { head: 'Received', kind: 'end', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
]

function Failures({ of: { failing } }: { readonly of: InboxOverview }) {
  if (failing.length === 0) return <p class="muted">None.</p>
  return (
    <Table
      label="Recent failures"
      items={failing}
      columns={failureColumns}
      idOf={({ id }) => id}
      hrefOf={({ id }) => href(['entries', id])}
    />
  )
}

type HandlerRow = Partial<HandlerLatency> & { readonly handler: string; readonly failed: number }

const time = (ms: number | undefined) => (ms === undefined ? '–' : duration(ms))

const handlerColumns: readonly Column<HandlerRow>[] = [
  { head: 'Handler', kind: 'main', cell: ({ handler }) => handler },
  { head: 'Done', cell: ({ entries }) => entries ?? 0 },
  { head: 'p50', cell: ({ p50 }) => time(p50) },
  { head: 'p95', cell: ({ p95 }) => time(p95) },
  {
    head: 'Failures',
    kind: 'end',
    cell: ({ failed }) => (failed > 0 ? <Badge tone="bad">{failed}</Badge> : 0),
  },
]

/** The times from an event's occurrence until its entry was done. */
function Handlers({ of: { stats, history } }: { readonly of: InboxOverview }) {
  const measured = stats.latency?.handlers ?? []
  const others = Object.keys(history.failures).filter(
    (name) => !measured.some(({ handler }) => handler === name),
  )
  const rows = [...measured, ...others.map((handler) => ({ handler }))].map((one) => ({
    ...one,
    failed: history.failures[one.handler] ?? 0,
  }))
  if (rows.length === 0) return <p class="muted">No handler ran.</p>
  return (
    <Table
      label="By handler"
      items={rows}
      columns={handlerColumns}
      idOf={({ handler }) => handler}
      hrefOf={({ handler }) => href(['entries'], { handler })}
    />
  )
}
