// Everything that was sent, live: the list, and one delivery with its attempts beside it.
/** @jsxImportSource preact */
import { useEffect } from 'preact/hooks'
import { eventNames } from '../../../../src/protocol/names.ts'
import { call } from '../call.ts'
import { useList } from '../load.ts'
import { go, href, route } from '../route.ts'
import { Time } from '../time.tsx'
import { HttpStatus, Status } from '../ui/badge.tsx'
import { confirmed } from '../ui/confirm.tsx'
import { Empty, Failed } from '../ui/detail.tsx'
import { Rows } from '../ui/rows.tsx'
import { Choice, Search } from '../ui/search.tsx'
import { DeliveryDetail } from './delivery.tsx'
import { askOlder, begin, isLoaded, listProblem, select, total } from './delivery-list.ts'
import { control, type DeliveryLine, type ListedSubscription } from './resources.ts'

const statuses = ['pending', 'delivered', 'failed', 'dropped', 'held']
export function DeliveriesPage() {
  useEffect(begin, [])
  const { path, query } = route.value
  const id = path[1]
  const filters = Object.fromEntries(query)
  const items = select(filters)
  const back = () => go(href(['deliveries'], query))
  const { data } = useList<ListedSubscription>(`${control}/subscriptions`, [
    'subscription',
    'state',
  ])
  const subscriptions = data ?? []
  const hosts = new Map(subscriptions.map((one) => [one.id, one.url.replace(/^https?:\/\//, '')]))
  return (
    <>
      <header>
        <h1>Deliveries</h1>
        <span class="muted" data-testid="total">
          {total.value ?? ''} in all
        </span>
        <ResendFailed />
      </header>
      <div class={id ? 'split open' : 'split'}>
        <section aria-label="List">
          <search class="filters" aria-label="Filters">
            <Search />
            <Choice name="status" choices={statuses} />
            <Choice name="event" choices={eventNames} />
            {subscriptions.length > 1 && (
              <Choice
                name="subscriptionId"
                title="Subscription"
                choices={subscriptions.map((one) => one.id)}
                words={hosts}
              />
            )}
          </search>
          {listProblem.value && <Failed problem={listProblem.value} />}
          <Rows
            items={items}
            label="Deliveries"
            kind="delivery"
            idOf={(one) => one.id}
            hrefOf={(one) => href(['deliveries', one.id], query)}
            row={(one) => <Row of={one} host={hosts.get(one.subscriptionId)} />}
            current={id}
            onEnd={askOlder}
            onBack={id ? back : undefined}
            empty={isLoaded.value && <Nothing filtered={query.size > 0} alone={!hosts.size} />}
          />
        </section>
        {id && <DeliveryDetail key={id} id={id} onClose={back} />}
      </div>
    </>
  )
}

function Row({ of, host }: { readonly of: DeliveryLine; readonly host: string | undefined }) {
  const last = of.attempts.at(-1)
  const fault = of.fault ?? last?.fault
  return (
    <>
      <span>
        <Status of={of.status} />
      </span>
      <span>
        {of.event} <span class="muted mono more">{of.resourceId.slice(0, 8)}</span>
        {fault && <span class="muted"> · {fault}</span>}
      </span>
      <span class="muted more">{host ?? of.subscriptionId}</span>
      <span class="more">{last && <HttpStatus status={last.status} />}</span>
      <span class="muted end">
        <Time at={of.createdAt} />
      </span>
    </>
  )
}

function Nothing({ filtered, alone }: { readonly filtered: boolean; readonly alone: boolean }) {
  if (filtered) {
    return (
      <Empty title="Nothing matches these filters">
        <button type="button" onClick={() => go(href(['deliveries']))}>
          Clear the filters
        </button>
      </Empty>
    )
  }
  return (
    <Empty title="Nothing sent yet">
      <p>
        {alone
          ? 'Events go to subscriptions: add the address of your receiver first.'
          : 'Create a verification, or act on one, to send events.'}
      </p>
      <div class="actions">
        {alone && (
          <a class="button main" href={href(['subscriptions'])}>
            Add a subscription
          </a>
        )}
        <a class={alone ? 'button' : 'button main'} href={href(['verifications', 'new'])}>
          New verification
        </a>
      </div>
    </Empty>
  )
}

function ResendFailed() {
  const failed = select({ status: 'failed' }).length
  if (failed === 0) return null
  const resend = () => {
    const title = `Send ${failed} failed deliveries again?`
    const text = 'Each is signed with the current secret and sent again immediately.'
    return confirmed({ title, text, yes: 'Send again' }, async () => {
      const { resent } = await call<{ readonly resent: number }>(`${control}/resend`, {
        method: 'POST',
        body: { status: 'failed' },
      })
      return `${resent} are being sent`
    })
  }
  return (
    <button type="button" onClick={resend}>
      Resend {failed} failed
    </button>
  )
}
