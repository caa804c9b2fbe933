// Where events are sent: add an address, pause it, give it a new secret, remove it.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { call, type FieldProblem, Problem } from '../call.ts'
import { useList } from '../load.ts'
import { Time } from '../time.tsx'
import { Status } from '../ui/badge.tsx'
import { confirmed } from '../ui/confirm.tsx'
import { Empty, Failed } from '../ui/detail.tsx'
import { type FormField, FormFields, type Values } from '../ui/form.tsx'
import { Page } from '../ui/shell.tsx'
import { attempt, Copy } from '../ui/toast.tsx'
import { control, type ListedSubscription } from './resources.ts'

const path = `${control}/subscriptions`

export function SubscriptionsPage() {
  const { data, problem, reload } = useList<ListedSubscription>(path, ['subscription', 'state'])
  const list = data ?? []
  return (
    <Page title="Subscriptions">
      {problem && <Failed problem={problem} />}
      <NewSubscription onDone={reload} />
      {data && list.length === 0 && (
        <Empty title="No subscriptions yet">
          <p>
            Start your receiver, enter its address above, and configure it with the secret shown
            then. Every event of the sandbox is signed with it and sent there.
          </p>
        </Empty>
      )}
      {list.map((one) => (
        <Card key={one.id} of={one} onDone={reload} />
      ))}
    </Page>
  )
}

const fields: readonly FormField[] = [
  { name: 'url', label: 'Address of your receiver', hint: 'http://localhost:3000/webhooks' },
  { name: 'events', hint: '*, verification.* or names, separated by commas' },
]
const empty: Values = { url: '', events: '*' }

function NewSubscription({ onDone }: { readonly onDone: () => void }) {
  const [values, setValues] = useState(empty)
  const [errors, setErrors] = useState<readonly FieldProblem[]>([])
  const add = async () => {
    setErrors([])
    try {
      const { url, events } = values
      const filters = String(events ?? '').split(/[\s,]+/)
      await call(path, { method: 'POST', body: { url, events: filters.filter(Boolean) } })
      setValues(empty)
      onDone()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setErrors(error.errors.length > 0 ? error.errors : [{ field: 'url', message: error.message }])
    }
  }
  return (
    <form
      class="card stack"
      noValidate
      aria-label="New subscription"
      onSubmit={(event) => {
        event.preventDefault()
        add()
      }}
    >
      <FormFields {...{ fields, values, errors }} onChange={setValues} />
      <div class="actions wide">
        <button type="submit" class="main">
          Add subscription
        </button>
      </div>
    </form>
  )
}

function Card({ of, onDone }: { readonly of: ListedSubscription; readonly onDone: () => void }) {
  const { id, url, events, secret, active, createdAt } = of
  const change = (body: object, done: string) =>
    attempt(async () => {
      await call(`${path}/${id}`, { method: 'PATCH', body })
      onDone()
      return done
    })
  return (
    <article class="card">
      <header>
        <h2 class="break">{url}</h2>
        <Status of={active ? 'active' : 'paused'} />
      </header>
      <p class="muted">
        {events.join(', ')} · secret <code>{secret}</code> · added <Time at={createdAt} />
      </p>
      <div class="actions">
        <button
          type="button"
          onClick={() => change({ active: !active }, active ? 'Paused' : 'Resumed')}
        >
          {active ? 'Pause' : 'Resume'}
        </button>
        <Copy text={() => revealed(id)}>Copy secret</Copy>
        <button type="button" onClick={() => rotate(of, onDone)}>
          Rotate secret
        </button>
        <button type="button" class="danger" onClick={() => remove(of, onDone)}>
          Remove
        </button>
      </div>
    </article>
  )
}

async function revealed(id: string): Promise<string> {
  const { secret } = await call<ListedSubscription>(`${path}/${id}?reveal=true`)
  return secret
}

function rotate({ id }: ListedSubscription, onDone: () => void): Promise<void> {
  const text =
    'A new secret signs every delivery from now on. The old one also signs for a day, so that nothing is refused while you update the receiver.'
  return confirmed({ title: 'Rotate its secret?', text, yes: 'Rotate' }, async () => {
    await call(`${path}/${id}/rotate`, { method: 'POST', body: {} })
    onDone()
    return 'The secret is new'
  })
}

function remove({ id, url }: ListedSubscription, onDone: () => void): Promise<void> {
  const text = `Nothing more is sent to ${url}; pending deliveries are dropped.`
  const question = { title: 'Remove this subscription?', text, yes: 'Remove', danger: true }
  return confirmed(question, async () => {
    await call(`${path}/${id}`, { method: 'DELETE' })
    onDone()
    return 'Removed'
  })
}
