// Who may call: the organizations with their plans, and their API keys.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { Time } from '../time.tsx'
import { Badge } from '../ui/badge.tsx'
import { confirmed } from '../ui/confirm.tsx'
import { Failed } from '../ui/detail.tsx'
import { Page } from '../ui/shell.tsx'
import { attempt, Copy } from '../ui/toast.tsx'
import { control, type OrganizationRow } from './resources.ts'

interface KeyRow {
  readonly id: string
  readonly organizationId: string
  readonly key: string
  readonly active: boolean
  readonly createdAt: string
}

const plans = ['Professional', 'Business', 'Enterprise', 'Starter']

export function AccessPage() {
  const { data, problem, reload } = useLoad({ key: 'access', ask, on: ['organizations', 'state'] })
  const [made, setMade] = useState<KeyRow | undefined>(undefined)
  const done = (key?: KeyRow) => {
    setMade(key)
    reload()
  }
  return (
    <Page title="Access">
      {problem && <Failed problem={problem} />}
      {made && (
        <div class="notice">
          The new key is shown only once: <code>{made.key}</code>{' '}
          <Copy text={() => made.key}>Copy</Copy>
        </div>
      )}
      <div class="columns">
        {data?.organizations.map((one) => (
          <Card
            key={one.id}
            of={one}
            keys={data.keys.filter(({ organizationId }) => organizationId === one.id)}
            onDone={done}
          />
        ))}
      </div>
    </Page>
  )
}

async function ask(signal: AbortSignal) {
  const [organizations, keys] = await Promise.all([
    call<{ readonly data: readonly OrganizationRow[] }>(`${control}/organizations`, { signal }),
    call<{ readonly data: readonly KeyRow[] }>(`${control}/api-keys`, { signal }),
  ])
  return { organizations: organizations.data, keys: keys.data }
}

interface CardProps {
  readonly of: OrganizationRow
  readonly keys: readonly KeyRow[]
  readonly onDone: (made?: KeyRow) => void
}

function Card({ of, keys, onDone }: CardProps) {
  const { id, name, plan, subscriptionActive, ratePerMinute } = of
  const change = (body: object) =>
    attempt(async () => {
      await call(`${control}/organizations/${id}`, { method: 'PATCH', body })
      onDone()
      return undefined
    })
  return (
    <article class="card">
      <header>
        <h2>{name}</h2>
        {(plan === 'Starter' || !subscriptionActive) && (
          <Badge tone="warn" sign="!">
            {plan === 'Starter' ? '403' : '402'}
          </Badge>
        )}
      </header>
      <div class="actions">
        <label>
          <span class="hidden">Plan of {name}</span>
          <select
            value={plan}
            onChange={({ currentTarget }) => change({ plan: currentTarget.value })}
          >
            {plans.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label class="actions">
          <input
            type="checkbox"
            checked={subscriptionActive}
            onChange={({ currentTarget }) => change({ subscriptionActive: currentTarget.checked })}
          />
          paid
        </label>
        <span class="muted">
          {ratePerMinute === null ? 'rate of its plan' : `${ratePerMinute} requests a minute`}
        </span>
      </div>
      <ul class="steps">
        {keys.map((key) => (
          <Key key={key.id} of={key} onDone={onDone} />
        ))}
      </ul>
      <div class="actions">
        <button type="button" onClick={() => generate(id, onDone)}>
          Generate key
        </button>
      </div>
    </article>
  )
}

function generate(organizationId: string, onDone: CardProps['onDone']) {
  return attempt(async () => {
    const made = await call<KeyRow>(`${control}/api-keys`, {
      method: 'POST',
      body: { organizationId },
    })
    onDone(made)
    return undefined
  })
}

function Key({ of, onDone }: { readonly of: KeyRow; readonly onDone: CardProps['onDone'] }) {
  const { id, key, active, createdAt } = of
  const revoke = () => {
    const text = 'Every request with this key is answered 401 from now on.'
    const question = { title: 'Revoke this key?', text, yes: 'Revoke', danger: true }
    return confirmed(question, async () => {
      await call(`${control}/api-keys/${id}`, { method: 'DELETE' })
      onDone()
      return 'Revoked'
    })
  }
  return (
    <li>
      <code>{key}</code>
      {!active && (
        <Badge tone="calm" sign="⊘">
          revoked
        </Badge>
      )}
      <span class="muted">
        <Time at={createdAt} />
      </span>
      {active && (
        <button type="button" class="plain" onClick={revoke}>
          Revoke
        </button>
      )}
    </li>
  )
}
