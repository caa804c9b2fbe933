// The sandbox's clock: freeze it, advance it, set it. It shows what falls due next, and after a jump
// what happened on the way.
import { useState } from 'preact/hooks'
import type { Overview } from '../../../sandbox/console.ts'
import { call, change, useLoad } from '../server.ts'
import { clockTime, Now } from '../time.tsx'
import { Form } from '../ui/form.tsx'
import { Badge, Button, Card, Failed, Notice, Page } from '../ui/parts.tsx'
import { DueCard } from './overview.tsx'
import { control, overview } from './records.tsx'

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
