// How the inbox goes: what waits and for how long, what arrived over time, and the legacy names that
// still arrive.
/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import type { InboxStats } from '../../../../src/inbox/admin.ts'
import { listen, useLoad } from '../load.ts'
import { filter, href, route } from '../route.ts'
import { duration, setServerClock, Time } from '../time.tsx'
import { Chart } from '../ui/chart.tsx'
import { Empty, Facts, Failed } from '../ui/detail.tsx'
import { Page } from '../ui/shell.tsx'
import { ask, type Overview, states } from './records.ts'

const spans = { '1h': 'the last hour', '24h': 'the last day', '7d': 'the last week' } as const

export function OverviewPage() {
  const span = route.value.query.get('span') ?? '1h'
  const { data, problem } = useLoad({
    key: `overview ${span}`,
    ask: (signal) => ask<Overview>(`/overview?span=${span}`, { signal }),
    on: ['changed'],
  })
  // Lag and age grow also while nothing happens.
  const [stats, setStats] = useState<InboxStats | undefined>(undefined)
  useEffect(() => listen<InboxStats>('stats', setStats), [])
  useEffect(() => {
    if (data) setServerClock(data.now, false)
  }, [data])
  return (
    <Page title="Overview" actions={<Spans at={span} />}>
      {problem && <Failed problem={problem} />}
      {data && <Figures stats={stats ?? data.stats} />}
      {data && <Arrivals of={data} words={spans[span as keyof typeof spans] ?? ''} />}
      {data && (
        <div class="columns">
          <Legacy of={data} />
          <Store of={data} />
        </div>
      )}
    </Page>
  )
}

function Spans({ at }: { readonly at: string }) {
  return (
    <label>
      <span class="hidden">Span</span>
      <select
        value={at}
        onChange={({ currentTarget: { value } }) =>
          filter({ span: value === '1h' ? undefined : value })
        }
      >
        {Object.entries(spans).map(([span, words]) => (
          <option key={span} value={span}>
            {words}
          </option>
        ))}
      </select>
    </label>
  )
}

const words: Readonly<Record<string, string>> = {
  stored: 'waiting',
  leased: 'being handled',
  retry: 'to be tried again',
  done: 'done',
  dead: 'dead letters',
  skipped: 'skipped',
}

const inWords = (state: string, count: number) =>
  state === 'dead' && count === 1 ? 'dead letter' : (words[state] ?? state)

function Figures({ stats }: { readonly stats: InboxStats }) {
  return (
    <div class="figures">
      {states.map((state) => (
        <a key={state} class="figure" href={href(['entries'], { state })}>
          <b data-testid={`count-${state}`}>{stats[state].toLocaleString('en')}</b>
          <span>{inWords(state, stats[state])}</span>
        </a>
      ))}
      <div class="figure">
        <b>{duration(stats.lag)}</b>
        <span>lag</span>
      </div>
      <div class="figure">
        <b>{stats.oldestAge === undefined ? '–' : duration(stats.oldestAge)}</b>
        <span>oldest open</span>
      </div>
    </div>
  )
}

const tones = {
  done: 'good',
  dead: 'bad',
  retry: 'warn',
  stored: 'info',
  leased: 'info',
  skipped: 'calm',
} as const

interface ArrivalsProps {
  readonly of: Overview
  readonly words: string
}

function Arrivals({ of: { history }, words: span }: ArrivalsProps) {
  const { buckets, width, readBackTo } = history
  const any = buckets.some(({ counts }) => Object.keys(counts).length > 0)
  return (
    <section class="card">
      <header>
        <h2>Arrived in {span}, by what became of it</h2>
        <span class="hint">a bar is {duration(width)}</span>
      </header>
      {any ? (
        <Chart
          label={`Deliveries that arrived in ${span}`}
          bars={buckets.map(({ at, counts }) => ({
            at,
            parts: Object.entries(tones).map(([state, tone]) => ({
              name: words[state] ?? state,
              tone,
              count: counts[state as keyof typeof tones] ?? 0,
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
    </section>
  )
}

function Legacy({ of: { history } }: { readonly of: Overview }) {
  const names = Object.entries(history.legacyNames).sort(([, one], [, other]) => other - one)
  return (
    <section class="card">
      <h2>Legacy names</h2>
      {names.length === 0 ? (
        <p>
          None arrived in this period. After a week without any, reject them with{' '}
          <code>legacy: 'reject'</code>.
        </p>
      ) : (
        <>
          <Chart
            label="Deliveries under a legacy name"
            bars={history.buckets.map(({ at, legacy }) => ({
              at,
              parts: [{ name: 'legacy', tone: 'warn', count: legacy }],
            }))}
          />
          <ul class="steps">
            {names.map(([name, count]) => (
              <li key={name}>
                <code>{name}</code> <span class="muted">{count} times</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

const facts: Readonly<Record<string, string>> = {
  order: 'Order kept per',
  survives: 'Survives',
  dedupeDays: 'Duplicates known for days',
  tx: 'Transactions for handlers',
  shared: 'Several processes',
  fairness: 'Fair between',
  erases: 'Erased bytes are',
}

function Store({ of: { capabilities } }: { readonly of: Overview }) {
  return (
    <section class="card">
      <h2>Store</h2>
      <Facts
        of={Object.fromEntries(
          Object.entries(capabilities).map(([name, value]) => [
            facts[name] ?? name,
            typeof value === 'boolean' ? (value ? 'yes' : 'no') : `${value}`,
          ]),
        )}
      />
    </section>
  )
}
