// The subscriptions, with what came of their deliveries: add, test, pause, rotate, remove.
/** @jsxImportSource preact */
import { call, type RequestOptions } from '../call.ts'
import { useList } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Button, Copy } from '../ui/actions.tsx'
import { Form, type FormField } from '../ui/form.tsx'
import { Card, Empty, Facts, Failed, HttpStatus, Page, Status } from '../ui/parts.tsx'
import { control, type ListedSubscription, own } from './resources.ts'

const path = `${control}/subscriptions`

const fields: readonly FormField[] = [
  { name: 'url', label: 'Address of your receiver', hint: 'http://localhost:3000/webhooks' },
  { name: 'events', hint: '*, verification.* or names, separated by commas' },
]

export function SubscriptionsPage() {
  const on = ['subscription', 'delivery', 'state']
  const { data, problem, reload } = useList<ListedSubscription>(`${own}/subscriptions`, on)
  const add = async ({ url, events }: { readonly [name: string]: unknown }) => {
    const names = String(events ?? '').split(/[\s,]+/)
    await call(path, { method: 'POST', body: { url: url ?? '', events: names.filter(Boolean) } })
    reload()
  }
  return (
    <Page title="Subscriptions" count={data && `${data.length} in all`}>
      <Failed problem={problem} />
      <Form
        label="New subscription"
        fields={fields}
        start={{ events: '*' }}
        submit="Add subscription"
        onSubmit={add}
      />
      {data?.length === 0 && (
        <Empty title="No subscriptions yet">
          <p>
            Start your receiver, enter its address above, and configure it with the secret shown
            then. Every event of the sandbox is signed with it and sent there.
          </p>
        </Empty>
      )}
      {data?.map((one) => (
        <SubscriptionCard key={one.id} of={one} onDone={reload} />
      ))}
    </Page>
  )
}

interface CardProps {
  readonly of: ListedSubscription
  readonly onDone: () => void
}

function SubscriptionCard({ of, onDone }: CardProps) {
  const { id, url, active } = of
  const send =
    (place: string, words: string, options: RequestOptions = {}) =>
    async () => {
      await call(place, { method: 'POST', ...options })
      onDone()
      return words
    }
  const one = `${path}/${id}`
  const body = { active: !active }
  const toggle = send(one, active ? 'Paused' : 'Resumed', { method: 'PATCH', body })
  const removal = {
    title: 'Remove this subscription?',
    text: `Nothing more is sent to ${url}; pending deliveries are dropped.`,
  }
  return (
    <Card
      title={<span class="break">{url}</span>}
      actions={<Status of={active ? 'active' : 'paused'} />}
    >
      <SubscriptionFacts of={of} />
      <div class="actions">
        <Button kind="main" work={send(`${own}/subscriptions/${id}/test`, 'Test event sent')}>
          Send test event
        </Button>
        <Button work={toggle}>{active ? 'Pause' : 'Resume'}</Button>
        <Copy text={() => secretOf(id)}>Copy secret</Copy>
        <Button question={rotation} work={send(`${one}/rotate`, 'The secret is new', { body: {} })}>
          Rotate secret
        </Button>
        <Button kind="danger" question={removal} work={send(one, 'Removed', { method: 'DELETE' })}>
          Remove
        </Button>
      </div>
    </Card>
  )
}

const rotation = {
  title: 'Rotate its secret?',
  text: 'A new secret signs every delivery from now on. The old one also signs for a day, so that nothing is rejected while you update the receiver.',
}

function SubscriptionFacts({ of }: Pick<CardProps, 'of'>) {
  const { id, events, secret, createdAt, counts, last } = of
  const { delivered = 0, failed = 0, pending = 0 } = counts
  const ended = delivered + failed
  const rate =
    ended === 0 ? 'none delivered' : `${Math.round((100 * delivered) / ended)} % delivered`
  return (
    <Facts
      of={{
        Events: events.join(', '),
        Secret: <code>{secret}</code>,
        'Last response': last ? (
          <>
            <HttpStatus status={last.status} /> <Time at={last.at} />
          </>
        ) : (
          'none yet'
        ),
        Deliveries: (
          <a href={href(['deliveries'], { subscriptionId: id })}>
            {rate}, {failed} failed, {pending} pending
          </a>
        ),
        Added: <Time at={createdAt} />,
      }}
    />
  )
}

async function secretOf(id: string): Promise<string> {
  const { secret } = await call<ListedSubscription>(`${path}/${id}?reveal=true`)
  return secret
}
