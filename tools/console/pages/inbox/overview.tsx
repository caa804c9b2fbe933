// How the inbox is doing: what needs attention, events over time, failures, and each handler's times.
import { useEffect } from 'preact/hooks'
import type { InboxStats } from '../../../../src/inbox/admin.ts'
import type { Entry as InboxEntry } from '../../../../src/inbox/entry.ts'
import type { HandlerRow, History } from '../../inbox-history.ts'
import { filter, href, route } from '../route.ts'
import { at, config, stats, useLoad } from '../server.ts'
import { duration, setServerClock, since, spans, Time } from '../time.tsx'
import { Chart } from '../ui/chart.tsx'
import { type Column, TableCard } from '../ui/list.tsx'
import { Badge, Card, Failed, Figure, Page, Select, Status, stateWords } from '../ui/parts.tsx'

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
            idOf={({ id }) => id}
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
