// How the sandbox is doing: counts, the deliveries that fail, and what happens next.

import { useState } from 'preact/hooks'
import type { Overview } from '../../../sandbox/console.ts'
import { href } from '../route.ts'
import { call, change, useLoad } from '../server.ts'
import { clockTime, Now, Time } from '../time.tsx'
import { Form } from '../ui/form.tsx'
import { type Column, TableCard } from '../ui/list.tsx'
import { Badge, Button, Card, Failed, Figure, Notice, Page } from '../ui/parts.tsx'
import { DeliveriesCard } from './deliveries.tsx'
import { control, NewVerification, overview } from './records.tsx'

const figures = [
  ['failed deliveries', 'deliveries', 'failed'],
  ['pending deliveries', 'deliveries', 'pending'],
  ['delivered', 'deliveries', 'delivered'],
  ['verifications to complete', 'verifications', 'initiated,in_progress'],
  ['verifications to decide', 'verifications', 'submitted,pending_review'],
] as const

export function OverviewPage() {
  const { data, problem } = useLoad(overview)
  const countOf = (page: 'deliveries' | 'verifications', states: string) =>
    states.split(',').reduce((sum, state) => sum + (data?.[page][state] ?? 0), 0)
  return (
    <Page title="Overview" actions={<NewVerification />}>
      <Failed problem={problem} />
      <div class="figures">
        {figures.map(([name, page, status]) => (
          <Figure
            key={name}
            name={name}
            value={countOf(page, status)}
            isBad={status === 'failed' && countOf(page, status) > 0}
            href={href([page], { status })}
          />
        ))}
      </div>
      <DeliveriesCard
        label="Failing deliveries"
        items={data?.failing ?? []}
        none="None: every delivery that was sent arrived."
      />
      <DueCard due={data?.due ?? []} />
    </Page>
  )
}

type DueItem = Overview['due'][number]

const dueColumns: readonly Column<DueItem>[] = [
  { head: 'At', cell: ({ at }) => <Time at={at} /> },
  { head: 'Of', kind: 'main', cell: ({ name }) => name },
  { head: 'Happens', cell: happens },
  { head: 'About', cell: ({ resourceId }) => <code>{resourceId.slice(0, 8)}</code> },
]

function happens({ attempts }: DueItem): string {
  if (attempts === undefined) return 'verification expires'
  return attempts.length === 0 ? 'first attempt' : `attempt ${attempts.length + 1}`
}

function DueCard({ due }: { readonly due: readonly DueItem[] }) {
  const pageOf = ({ attempts }: DueItem) =>
    attempts === undefined ? 'verifications' : 'deliveries'
  return (
    <TableCard
      label="Due next"
      items={due}
      columns={dueColumns}
      hrefOf={(one) => href([pageOf(one), one.id])}
      none="Nothing is due."
    />
  )
}

const leaps = [
  ['1 minute', 60],
  ['1 hour', 3600],
  ['1 day', 86_400],
  ['8 days', 691_200],
] as const

const resetting = {
  title: 'Reset the whole sandbox?',
  text: 'Deletes every verification, client, delivery and mail, and restores subscriptions, keys, clock and faults to their initial state.',
}

export function ClockPage() {
  const { data, problem } = useLoad(overview)
  const [summary, setSummary] = useState('')
  const move = (method: string, path: string, body: object) => async () => {
    const ask = () => overview.ask(new AbortController().signal)
    const before = await ask()
    await call(`${control}${path}`, { method, body })
    setSummary('frozen' in body ? '' : summaryOf(before, await ask()))
  }
  const reset = change('The sandbox was reset', `${control}/reset`)
  const { frozen = false, due = [] } = data ?? {}
  const [tone, state] = frozen ? (['warn', 'frozen'] as const) : (['good', 'running'] as const)
  return (
    <Page
      title="Clock"
      actions={<Button kind="danger" question={resetting} work={reset} words="Reset the sandbox" />}
    >
      <Failed problem={problem} />
      <Card title={<Now />} actions={<Badge tone={tone} words={state} />}>
        <div class="actions">
          <Button
            kind="main"
            work={move('PUT', '/clock', { frozen: !frozen })}
            words={frozen ? 'Let it run' : 'Freeze'}
          />
          {leaps.map(([words, seconds]) => (
            <Button
              key={words}
              work={move('POST', '/clock/advance', { seconds })}
              words={`Advance ${words}`}
            />
          ))}
        </div>
        {summary && <Notice>{summary}</Notice>}
        <p class="hint">
          Everything that falls due on the way happens in chronological order: retries, expiries,
          ends of old secrets. While the clock is frozen, rate limits do not reset.
        </p>
      </Card>
      <Form
        label="Set the clock"
        fields={[{ name: 'now', label: 'Set to', kind: 'time' }]}
        submit="Set"
        onSubmit={(body) => move('PUT', '/clock', body)()}
      />
      <DueCard due={due} />
    </Page>
  )
}

const counted = [
  ['verifications', 'expired'],
  ['deliveries', 'delivered'],
  ['deliveries', 'failed'],
] as const

function summaryOf(before: Overview, after: Overview): string {
  const happened = counted.flatMap(([kind, status]) => {
    const count = (after[kind][status] ?? 0) - (before[kind][status] ?? 0)
    return count > 0 ? [`${count} ${status}`] : []
  })
  return `It is now ${clockTime(after.now)}: ${happened.join(', ') || 'nothing fell due'}.`
}
