// Everything that was sent, live: the list, and one delivery beside it.
/** @jsxImportSource preact */
import { useMemo } from 'preact/hooks'
import { eventNames } from '../../../../src/protocol/names.ts'
import { call, query } from '../call.ts'
import { useList, useLoad, useRows } from '../load.ts'
import { href, route } from '../route.ts'
import { duration, spanStart, Time } from '../time.tsx'
import { Button } from '../ui/actions.tsx'
import { type FilterField, ListPage } from '../ui/list-page.tsx'
import { Empty, Status } from '../ui/parts.tsx'
import type { Column } from '../ui/table.tsx'
import { DeliveryDetail } from './delivery.tsx'
import { response, statusOf } from './overview.tsx'
import { since } from './records.tsx'
import {
  control,
  type ListedDelivery,
  type ListedSubscription,
  overview,
  own,
  type PageOf,
} from './resources.ts'

const statuses = ['pending', 'delivered', 'failed', 'dropped', 'held']

export function DeliveriesPage() {
  const { query: search } = route.value
  const { since: span, ...filters } = Object.fromEntries(search)
  const { data } = useList<ListedSubscription>(`${control}/subscriptions`, [
    'subscription',
    'state',
  ])
  const counts = useLoad(overview).data?.deliveries ?? {}
  const hosts = (data ?? []).map(({ id, url }) => [id, url.replace(/^https?:\/\//, '')] as const)
  const rows = useRows({
    key: `deliveries ${search}`,
    on: ['delivery', 'state'],
    async ask(size, signal) {
      const all = { ...filters, dateFrom: spanStart(span), limit: size }
      const found = await call<PageOf<ListedDelivery>>(`${own}/deliveries${query(all)}`, {
        signal,
      })
      const { total, hasNext: hasMore } = found.pagination
      return { items: found.data, total, hasMore }
    },
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the hosts are made of the data
  const shownColumns = useMemo(() => columns(new Map(hosts)), [data])
  const fields: readonly FilterField[] = [
    {
      name: 'status',
      label: 'Status',
      choices: statuses.map((one) => [one, `${one} (${counts[one] ?? 0})`]),
    },
    { name: 'event', label: 'Event', choices: eventNames },
    { name: 'subscriptionId', label: 'Subscription', choices: hosts },
    since,
  ]
  return (
    <ListPage
      title="Deliveries"
      path="deliveries"
      nouns={['delivery', 'deliveries']}
      rows={rows}
      filters={fields}
      columns={shownColumns}
      searchHint="Event or ID"
      idOf={({ id }) => id}
      detail={DeliveryDetail}
      actions={counts.failed ? <ResendFailed count={counts.failed} /> : null}
      empty={<NothingSent hasSubscription={hosts.length > 0} />}
    />
  )
}

const columns = (hosts: ReadonlyMap<string, string>): readonly Column<ListedDelivery>[] => [
  { head: 'Status', cell: (one) => <Status of={statusOf(one)} /> },
  {
    head: 'Event',
    kind: 'main',
    cell: ({ event, fault, attempts }) => {
      const why = fault ?? attempts.at(-1)?.fault
      return (
        <>
          {event} {why && <span class="muted">· {why}</span>}
        </>
      )
    },
  },
  { head: 'Response', cell: response },
  { head: 'Attempts', kind: 'more', cell: ({ attempts }) => attempts.length },
  { head: 'Duration', kind: 'more', cell: ({ attempts }) => took(attempts.at(-1)?.durationMs) },
  {
    head: 'Sent to',
    kind: 'more',
    cell: ({ subscriptionId }) => hosts.get(subscriptionId) ?? 'a removed subscription',
  },
  { head: 'About', kind: 'more', cell: ({ resourceId }) => <code>{resourceId.slice(0, 8)}</code> },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

const took = (ms: number | undefined) => (ms === undefined ? '–' : duration(ms))

function NothingSent({ hasSubscription }: { readonly hasSubscription: boolean }) {
  return (
    <Empty title="Nothing sent yet">
      <p>
        {hasSubscription
          ? 'Create a verification, or act on one, to send events.'
          : 'Events go to subscriptions: add the address of your receiver first.'}
      </p>
      <div class="actions">
        {!hasSubscription && (
          <a class="button main" href={href(['subscriptions'])}>
            Add a subscription
          </a>
        )}
        <a class="button" href={href(['verifications', 'new'])}>
          New verification
        </a>
      </div>
    </Empty>
  )
}

function ResendFailed({ count }: { readonly count: number }) {
  const resend = async () => {
    const body = { status: 'failed' }
    const options = { method: 'POST', body }
    const { resent } = await call<{ readonly resent: number }>(`${control}/resend`, options)
    return `${resent} sent again`
  }
  const question = {
    title: `Send ${count} failed ${count === 1 ? 'delivery' : 'deliveries'} again?`,
    text: 'Each is signed with the current secret and sent again immediately.',
  }
  return (
    <Button question={question} work={resend}>
      Resend {count} failed
    </Button>
  )
}
