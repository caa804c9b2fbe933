// Everything that was sent, live; and one delivery with its attempts, newest first, each with the
// response, why it failed, and the bytes that were signed and sent.
import { parseJson } from '../../../../src/foundation/json.ts'
import { eventNames } from '../../../../src/protocol/names.ts'
import type {
  DiagnosedDelivery,
  ListedDelivery,
  ListedSubscription,
} from '../../../sandbox/console.ts'
import { href, queryOf } from '../route.ts'
import { at, call, change, listAt, useLoad } from '../server.ts'
import { fromBase64, type TestCase, textOf, toCurl, toTest } from '../text.ts'
import { duration, since, Time } from '../time.tsx'
import { Body, Headers, SideBySide } from '../ui/bytes.tsx'
import {
  type Column,
  Detail,
  type Filters,
  ListPage,
  TableCard,
  type TableProps,
} from '../ui/list.tsx'
import {
  Badge,
  Button,
  Card,
  Copy,
  counted,
  Details,
  Empty,
  HttpStatus,
  Id,
  LinkButton,
  Notice,
  Status,
  worded,
} from '../ui/parts.tsx'
import { control, NewVerification, overview, own, type PageOf } from './records.tsx'

const statuses = ['pending', 'delivered', 'failed', 'dropped', 'held']

export function DeliveriesPage() {
  const on = ['subscription', 'state']
  const { data = [] } = useLoad(listAt<ListedSubscription>(`${control}/subscriptions`, on))
  const counts = useLoad(overview).data?.deliveries ?? {}
  const hosts = data.map(({ id, url }) => [id, url.replace(/^https?:\/\//, '')] as const)
  const choices = worded(statuses, (one) => `${one} (${counts[one] ?? 0})`)
  return (
    <ListPage
      title="Deliveries"
      nouns={['delivery', 'deliveries']}
      read={read}
      on={['delivery', 'state']}
      filters={[
        { name: 'status', label: 'Status', choices },
        { name: 'event', label: 'Event', choices: eventNames },
        { name: 'subscriptionId', label: 'Subscription', choices: hosts },
        since('Created'),
      ]}
      columns={columns}
      searchHint="Event or ID"
      detail={DeliveryDetail}
      actions={() => counts.failed !== undefined && <ResendFailed count={counts.failed} />}
      empty={<NothingSent hasSubscription={hosts.length > 0} />}
    />
  )
}

async function read(filters: Filters, limit: number, signal: AbortSignal) {
  const path = `${own}/deliveries${queryOf({ ...filters, limit })}`
  const { data: items, pagination } = await call<PageOf<ListedDelivery>>(path, { signal })
  return { items, total: pagination.total, hasMore: pagination.hasNext }
}

const columns: readonly Column<ListedDelivery>[] = [
  { head: 'Status', cell: ({ state }) => <Status of={state} /> },
  {
    head: 'Event',
    kind: 'main',
    cell: ({ event, last: { fault } }) => [event, fault].filter(Boolean).join(' · '),
  },
  {
    head: 'Response',
    cell: ({ attempts, last }) => attempts > 0 && <HttpStatus of={last.status} />,
  },
  { head: 'Attempts', kind: 'more', cell: ({ attempts }) => attempts },
  { head: 'Duration', kind: 'more', cell: ({ last }) => duration(last.durationMs) },
  { head: 'Sent to', kind: 'more', cell: ({ to }) => to },
  { head: 'About', cell: ({ resourceId }) => <code>{resourceId.slice(0, 8)}</code> },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

type DeliveriesProps = Pick<TableProps<ListedDelivery>, 'label' | 'items' | 'none'>

export function DeliveriesCard(props: DeliveriesProps) {
  return <TableCard {...props} columns={columns} hrefOf={({ id }) => href(['deliveries', id])} />
}

export const EventsSent = ({ items }: Pick<DeliveriesProps, 'items'>) => (
  <DeliveriesCard label="Events sent" items={items} none="None: no subscription takes them." />
)

function NothingSent({ hasSubscription }: { readonly hasSubscription: boolean }) {
  const add = <LinkButton to={href(['subscriptions'])} words="Add a subscription" isMain />
  const [text, action] = hasSubscription
    ? ['Create a verification, or act on one, to send events.', <NewVerification key="new" />]
    : ['Events go to subscriptions: add the address of your receiver first.', add]
  return <Empty title="Nothing sent yet" text={text} actions={action} />
}

function ResendFailed({ count }: { readonly count: number }) {
  const resend = async () => {
    const options = { method: 'POST', body: { status: 'failed' } }
    const { resent } = await call<{ readonly resent: number }>(`${control}/resend`, options)
    return `${resent} sent again`
  }
  const question = {
    title: `Send ${counted(count, ['failed delivery', 'failed deliveries'])} again?`,
    text: 'Each is signed with the current secret and sent again immediately.',
  }
  return <Button question={question} work={resend} words={`Resend ${count} failed`} />
}

function DeliveryDetail({ id }: { readonly id: string }) {
  const path = `${own}/deliveries/${encodeURIComponent(id)}`
  const resend = change('Sent again', `${control}/deliveries/${id}/resend`)
  return (
    <Detail
      label="Delivery"
      load={useLoad(at<DiagnosedDelivery>(path, ['delivery', 'state']))}
      title={({ delivery }) => delivery.event}
      actions={({ delivery, state, attempts: [last] }) => (
        <>
          <Status of={state} />
          <Button kind="main" work={resend} words="Resend" />
          {last && <Copy text={() => curlOf(last)} words="Copy as curl" />}
          {last && <Copy text={() => testOf(path, delivery.event, last)} words="Copy as test" />}
        </>
      )}
    >
      {(shown) => (
        <>
          <Card title={counted(shown.attempts.length, ['attempt', 'attempts'])}>
            <ol class="timeline">
              {shown.delivery.nextAttemptAt && (
                <li>
                  Next attempt <Time at={shown.delivery.nextAttemptAt} />
                </li>
              )}
              {shown.attempts.map((one, nth) => (
                <AttemptView key={one.number} of={one} isOpen={nth === 0} {...shown.delivery} />
              ))}
            </ol>
          </Card>
          <Details of={detailsOf(shown)} />
        </>
      )}
    </Detail>
  )
}

type DiagnosedAttempt = DiagnosedDelivery['attempts'][number]

function curlOf({ request: { headers, ...rest } }: DiagnosedAttempt): string {
  return toCurl({ ...rest, headers: Object.entries(headers) })
}

async function testOf(path: string, event: string, { ok, code }: DiagnosedAttempt) {
  const { capture } = await call<Pick<TestCase, 'capture'>>(`${path}/capture`)
  const outcome = ok === false ? 'rejected' : 'handled'
  return toTest({ title: `${event} is ${outcome} as it was delivered`, capture, outcome, code })
}

interface AttemptProps extends Pick<DiagnosedDelivery['delivery'], 'body'> {
  readonly of: DiagnosedAttempt
  readonly isOpen: boolean
}

function AttemptView({ of, isOpen, body: signed }: AttemptProps) {
  const { request, response, error, fault, durationMs, at, number } = of
  const reply = wordIn(response?.body)
  return (
    <li>
      <details class="attempt" open={isOpen}>
        <summary>
          <strong>{`Attempt ${number}`}</strong> <HttpStatus of={response?.status} />{' '}
          {reply && <code>{reply}</code>} {duration(durationMs)}{' '}
          {fault && <Badge tone="warn" words={fault} />} <Time at={at} />
        </summary>
        <div class="stack">
          <Cause of={of} />
          {error && <Notice tone="bad">{error}</Notice>}
          {response && (
            <Card title={`Response ${response.status}`}>
              <Body base64={response.body} label="Response body" />
              <Headers pairs={response.headers} />
            </Card>
          )}
          {request.body !== signed && (
            <Card title="Signed and received bytes">
              <SideBySide signed={signed} received={request.body} />
            </Card>
          )}
          <Card title={`Request ${request.method} ${request.url}`}>
            <Body base64={request.body} label="Request body" />
            <Headers pairs={Object.entries(request.headers)} />
          </Card>
        </div>
      </details>
    </li>
  )
}

/** The code or the outcome that the receiver replied with. */
function wordIn(body = ''): string | undefined {
  const { code, outcome } = Object(parseJson(textOf(fromBase64(body)) ?? '')?.value)
  return [code, outcome].find((word) => typeof word === 'string')
}

function Cause({ of: { ok, code, diagnosis, response } }: { readonly of: DiagnosedAttempt }) {
  if (ok === false) {
    const unknown = { message: 'a receiver with the right secret rejects these bytes', fix: '' }
    const { message, fix } = diagnosis ?? unknown
    return (
      <Notice tone="warn">
        <strong>{code}</strong> {sentence(message)} {fix && sentence(fix)}
      </Notice>
    )
  }
  if (!ok || response?.status !== 401) return null
  return (
    <Notice tone="warn">
      The signature is right for this subscription’s secret, and the bytes are unchanged. The
      receiver has another secret or scheme: copy the secret from{' '}
      <a href={href(['subscriptions'])}>Subscriptions</a>.
    </Notice>
  )
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

function detailsOf({ delivery }: DiagnosedDelivery) {
  const { id, eventId, event, canonicalEvent, resourceId, createdAt, fault } = delivery
  const page = canonicalEvent.startsWith('client') ? 'clients' : 'verifications'
  return {
    Delivery: <Id of={id} />,
    Event: <Id of={eventId} />,
    Name: event !== canonicalEvent && `${event}, sent for ${canonicalEvent}`,
    About: <Id of={resourceId} href={href([page, resourceId])} />,
    Created: <Time at={createdAt} />,
    Fault: fault,
  }
}
