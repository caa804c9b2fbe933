// The sandbox's clock: freeze it, advance it, set it. It shows what falls due next, and after a jump
// what happened on the way.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { clockTime, serverNow } from '../time.tsx'
import { attempt, Button } from '../ui/actions.tsx'
import { Badge, Card, Failed, Notice, Page } from '../ui/parts.tsx'
import { DueTable } from './overview.tsx'
import { control, type Overview, overview } from './resources.ts'

const leaps = [
  ['1 minute', 60],
  ['1 hour', 3600],
  ['1 day', 86_400],
  ['8 days', 691_200],
] as const

export function ClockPage() {
  const { data, problem, reload } = useLoad(overview)
  const [summary, setSummary] = useState('')
  const change = (method: string, path: string, body: object) => async () => {
    const before = await overview.ask()
    await call(`${control}${path}`, { method, body })
    const after = await overview.ask()
    setSummary('frozen' in body ? '' : summaryOf(before, after))
    reload()
  }
  if (!data) return <Page title="Clock">{<Failed problem={problem} />}</Page>
  const { frozen } = data
  return (
    <Page
      title="Clock"
      actions={
        <Button kind="danger" question={resetting} work={reset}>
          Reset the sandbox
        </Button>
      }
    >
      <Failed problem={problem} />
      <Card
        title={
          <>
            {clockTime(serverNow())}{' '}
            <span class="muted mono" data-testid="now">
              {new Date(serverNow()).toISOString().replace('T', ' ').slice(0, 19)} UTC
            </span>
          </>
        }
        actions={
          <Badge tone={frozen ? 'warn' : 'good'} sign={frozen ? 'Ⅱ' : '▶'}>
            {frozen ? 'frozen' : 'running'}
          </Badge>
        }
      >
        <div class="actions">
          <Button kind="main" work={change('PUT', '/clock', { frozen: !frozen })}>
            {frozen ? 'Let it run' : 'Freeze'}
          </Button>
          {leaps.map(([words, seconds]) => (
            <Button key={words} work={change('POST', '/clock/advance', { seconds })}>
              Advance {words}
            </Button>
          ))}
        </div>
        <SetTime onSet={(now) => attempt(change('PUT', '/clock', { now }))} />
        {summary && <Notice>{summary}</Notice>}
        <p class="hint">
          Everything that falls due on the way happens in chronological order: retries, expiries,
          ends of old secrets. While the clock is frozen, rate limits do not reset.
        </p>
      </Card>
      <Card title="Due next">
        <DueTable due={data.due} />
      </Card>
    </Page>
  )
}

const resetting = {
  title: 'Reset the whole sandbox?',
  text: 'Deletes every verification, client, delivery and mail, and restores subscriptions, keys, clock and faults to their initial state.',
}

async function reset(): Promise<string> {
  await call(`${control}/reset`, { method: 'POST' })
  return 'The sandbox was reset'
}

/** Tells what happened between two looks, e.g. "1 expired, 3 delivered". */
function summaryOf(before: Overview, after: Overview): string {
  const since = (kind: 'verifications' | 'deliveries', status: string) =>
    (after[kind][status] ?? 0) - (before[kind][status] ?? 0)
  const parts = [
    [since('verifications', 'expired'), 'expired'],
    [since('deliveries', 'delivered'), 'delivered'],
    [since('deliveries', 'failed'), 'failed'],
  ]
  const happened = parts.filter(([count]) => Number(count) > 0).map((part) => part.join(' '))
  return `It is now ${clockTime(after.now)}: ${happened.join(', ') || 'nothing fell due'}.`
}

function SetTime({ onSet }: { readonly onSet: (now: string) => void }) {
  const [wanted, setWanted] = useState('')
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault()
        onSet(new Date(wanted).toISOString())
      }}
    >
      <label>
        Set to{' '}
        <input
          type="datetime-local"
          step="1"
          min="1970-01-02T00:00"
          max="8999-12-31T00:00"
          required
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value)}
        />
      </label>
      <button type="submit">Set</button>
    </form>
  )
}
