// The sandbox's clock: freeze it, move it on, set it. Expiries and retries fall due as it moves.
/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { serverNow, setServerClock } from '../time.tsx'
import { Badge } from '../ui/badge.tsx'
import { confirmed } from '../ui/confirm.tsx'
import { Page } from '../ui/shell.tsx'
import { attempt } from '../ui/toast.tsx'
import { control } from './resources.ts'

export interface ShownClock {
  readonly now: string
  readonly frozen: boolean
}

const leaps = [
  ['1 minute', 60],
  ['1 hour', 3600],
  ['1 day', 86_400],
  ['8 days', 691_200],
] as const

export function ClockPage() {
  const { data, reload } = useLoad({
    key: 'clock',
    ask: (signal) => call<ShownClock>(`${control}/clock`, { signal }),
    on: ['clock', 'state'],
  })
  const [wanted, setWanted] = useState('')
  useEffect(() => {
    if (data) setServerClock(data.now, data.frozen)
  }, [data])
  const change = (method: string, path: string, body: object) =>
    attempt(async () => {
      await call(`${control}${path}`, { method, body })
      reload()
      return undefined
    })
  if (!data) return <Page title="Clock">{null}</Page>
  return (
    <Page title="Clock" actions={<Reset />}>
      <article class="card">
        <header>
          <h2 class="mono" data-testid="now">
            {new Date(serverNow()).toISOString().replace('T', ' ').slice(0, 19)} UTC
          </h2>
          <Badge tone={data.frozen ? 'warn' : 'good'} sign={data.frozen ? 'Ⅱ' : '▶'}>
            {data.frozen ? 'frozen' : 'running'}
          </Badge>
        </header>
        <div class="actions">
          <button
            type="button"
            class="main"
            onClick={() => change('PUT', '/clock', { frozen: !data.frozen })}
          >
            {data.frozen ? 'Let it run' : 'Freeze'}
          </button>
          {leaps.map(([words, seconds]) => (
            <button
              key={words}
              type="button"
              onClick={() => change('POST', '/clock/advance', { seconds })}
            >
              Advance {words}
            </button>
          ))}
        </div>
        <form
          class="actions"
          onSubmit={(event) => {
            event.preventDefault()
            change('PUT', '/clock', { now: wanted })
          }}
        >
          <label>
            Set to{' '}
            <input
              value={wanted}
              placeholder="2026-01-31T12:00:00Z"
              onInput={({ currentTarget }) => setWanted(currentTarget.value)}
            />
          </label>
          <button type="submit" disabled={!wanted}>
            Set and freeze
          </button>
        </form>
        <p class="hint">
          Everything that falls due on the way happens in chronological order: retries, expiries,
          ends of old secrets. While the clock is frozen, rate limits do not reset.
        </p>
      </article>
    </Page>
  )
}

function Reset() {
  const reset = () => {
    const text =
      'Deletes every verification, client, delivery and e-mail, and restores subscriptions, keys, clock and faults to their initial state.'
    const title = 'Reset the whole sandbox?'
    return confirmed({ title, text, yes: 'Reset everything', danger: true }, async () => {
      await call(`${control}/reset`, { method: 'POST' })
      return 'The sandbox was reset'
    })
  }
  return (
    <button type="button" class="danger" onClick={reset}>
      Reset the sandbox
    </button>
  )
}
