// The subscriptions, with what came of their deliveries: add, test, pause, rotate, remove.
import type { ListedSubscription } from '../../../sandbox/console.ts'
import { href } from '../route.ts'
import { call, change, listAt, useLoad } from '../server.ts'
import { Time } from '../time.tsx'
import { Form, type FormField, type Values } from '../ui/form.tsx'
import {
  Button,
  Card,
  Copy,
  counted,
  Empty,
  Facts,
  Failed,
  HttpStatus,
  Page,
  Status,
} from '../ui/parts.tsx'
import { control, own } from './records.tsx'

const path = `${control}/subscriptions`

const fields: readonly FormField[] = [
  { name: 'url', label: 'Address of your receiver', hint: 'http://localhost:3000/webhooks' },
  { name: 'events', hint: '*, verification.* or names, separated by commas' },
]

export function SubscriptionsPage() {
  const on = ['subscription', 'delivery', 'state']
  const { data, problem } = useLoad(listAt<ListedSubscription>(`${own}/subscriptions`, on))
  const add = async ({ url = '', events = '' }: Values) => {
    const names = String(events).split(/[\s,]+/)
    await call(path, { method: 'POST', body: { url, events: names.filter(Boolean) } })
  }
  const count = data && counted(data.length, ['subscription', 'subscriptions'])
  return (
    <Page title="Subscriptions" count={count}>
      <Failed problem={problem} />
      <Form
        label="New subscription"
        fields={fields}
        start={{ events: '*' }}
        submit="Add subscription"
        onSubmit={add}
      />
      {data?.length === 0 && (
        <Empty
          title="No subscriptions yet"
          text="Start your receiver, enter its address above, and configure it with the secret shown then. Every event of the sandbox is signed with it and sent there."
        />
      )}
      {data?.map((one) => (
        <SubscriptionCard key={one.id} of={one} />
      ))}
    </Page>
  )
}

const rotation = {
  title: 'Rotate its secret?',
  text: 'A new secret signs every delivery from now on. The old one also signs for a day, so that nothing is rejected while you update the receiver.',
}

function SubscriptionCard({ of }: { readonly of: ListedSubscription }) {
  const { id, url, active, events, secret, createdAt, last, counts } = of
  const { delivered = 0, failed = 0, pending = 0 } = counts
  const rate = delivered + failed && `${Math.round((100 * delivered) / (delivered + failed))} %`
  const one = `${path}/${id}`
  const test = change('Test event sent', `${own}/subscriptions/${id}/test`)
  const [verb, paused] = active ? ['Pause', 'Paused'] : ['Resume', 'Resumed']
  const toggle = change(paused, one, { method: 'PATCH', body: { active: !active } })
  const rotate = change('The secret is new', `${one}/rotate`, { body: {} })
  const remove = change('Removed', one, { method: 'DELETE' })
  const removal = {
    title: 'Remove this subscription?',
    text: `Nothing more is sent to ${url}; pending deliveries are dropped.`,
  }
  const facts = {
    Events: events.join(', '),
    Secret: <code>{secret}</code>,
    'Last response': last
      ? [<HttpStatus key="status" of={last.status} />, ' ', <Time key="at" at={last.at} />]
      : 'none yet',
    Deliveries: (
      <a href={href(['deliveries'], { subscriptionId: id })}>
        {`${rate || 'none'} delivered, ${failed} failed, ${pending} pending`}
      </a>
    ),
    Added: <Time at={createdAt} />,
  }
  return (
    <Card title={url} actions={<Status of={active ? 'active' : 'paused'} />}>
      <Facts of={facts} />
      <div class="actions">
        <Button kind="main" work={test} words="Send test event" />
        <Button work={toggle} words={verb} />
        <Copy text={() => secretOf(one)} words="Copy secret" />
        <Button question={rotation} work={rotate} words="Rotate secret" />
        <Button kind="danger" question={removal} work={remove} words="Remove" />
      </div>
    </Card>
  )
}

async function secretOf(one: string): Promise<string> {
  return (await call<ListedSubscription>(`${one}?reveal=true`)).secret
}
