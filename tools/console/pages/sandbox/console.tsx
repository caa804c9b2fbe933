// The sandbox's console: its pages, in the order of how often they are wanted.
import { useEffect } from 'preact/hooks'
import type { ListedKey } from '../../../sandbox/console.ts'
import { href } from '../route.ts'
import { connect, listAt, useLoad } from '../server.ts'
import { clockTime, serverNow, setServerClock } from '../time.tsx'
import { type Column, Table, TableCard } from '../ui/list.tsx'
import { Card, Facts, Failed, Id, Page } from '../ui/parts.tsx'
import { place, Shell } from '../ui/shell.tsx'
import { ClientsPage } from './clients.tsx'
import { DeliveriesPage } from './deliveries.tsx'
import { FaultsPage } from './faults.tsx'
import { OutboxPage } from './outbox.tsx'
import { ClockPage, OverviewPage } from './overview.tsx'
import { type Assumptions, api, assumptions, control, overview, own } from './records.tsx'
import { SubscriptionsPage } from './subscriptions.tsx'
import { VerificationsPage } from './verifications.tsx'

const commands = [
  { title: 'New verification', href: href(['verifications', 'new']) },
  { title: 'New client', href: href(['clients', 'new']) },
  { title: 'Failed deliveries', href: href(['deliveries'], { status: 'failed' }) },
]

const searches = (search: string) =>
  ['Verifications', 'Clients', 'Deliveries'].map((title) => ({
    title: `${title} with “${search}”`,
    href: href([title.toLowerCase()], { search }),
  }))

export function SandboxConsole() {
  useEffect(() => connect(`${control}/events`), [])
  const { data } = useLoad(overview)
  useEffect(() => {
    if (data) setServerClock(data.now, data.frozen)
  }, [data])
  const places = [
    place('Overview', 'o', OverviewPage),
    place('Verifications', 'v', VerificationsPage),
    place('Clients', 'c', ClientsPage),
    { ...place('Deliveries', 'd', DeliveriesPage), badge: data?.failingCount },
    place('Subscriptions', 's', SubscriptionsPage),
    place('Outbox', 'm', OutboxPage),
    { ...place('Clock', 't', ClockPage), group: 'Simulate' },
    place('Faults', 'f', FaultsPage),
    { ...place('Reference', 'r', ReferencePage), group: 'Look up' },
  ]
  // The sandbox's time is not the reader's: every page says so.
  const isOff = data && (data.frozen || Math.abs(serverNow() - Date.now()) > 60_000)
  const foot = isOff && (
    <a class="wide" href={href(['clock'])}>
      {`Clock ${data.frozen ? 'frozen ' : ''}at ${clockTime(serverNow())}`}
    </a>
  )
  return <Shell {...{ places, commands, searches, foot }} />
}

/** The API keys, and what the sandbox assumes where the service's document leaves something open. */
function ReferencePage() {
  const keys = useLoad(listAt<ListedKey>(`${own}/keys`, ['organizations', 'state']))
  const { data, problem } = useLoad(assumptions)
  const names = data?.magicNames.map(({ name, effect }) => [name, effect]) ?? []
  return (
    <Page title="Reference">
      <Failed problem={problem ?? keys.problem} />
      <TableCard
        label="Organizations & keys"
        items={keys.data ?? []}
        columns={keyColumns}
        idOf={({ key }) => key}
      />
      <Card title="Subject names that trigger a result">
        <Facts of={Object.fromEntries(names)} />
      </Card>
      <Card title="Assumptions">
        <p class="muted">
          Where the service’s documentation leaves something open, the sandbox does this.{' '}
          <a href={`${api}/openapi.json`}>OpenAPI of the service</a>
        </p>
        <Table
          label="Assumptions"
          items={data?.data ?? []}
          columns={assumptionColumns}
          idOf={({ section, topic }) => `${section} ${topic}`}
        />
      </Card>
    </Page>
  )
}

const keyColumns: readonly Column<ListedKey>[] = [
  { head: 'Key', kind: 'main', cell: ({ key }) => <Id of={key} /> },
  { head: 'Organization', cell: ({ name }) => name },
  { head: 'Plan', cell: ({ plan }) => plan },
  { head: 'Requests get', cell: ({ effect, active }) => (active ? effect : '401, revoked') },
]

const assumptionColumns: readonly Column<Assumptions['data'][number]>[] = [
  { head: 'Section', cell: ({ section }) => section },
  { head: 'Topic', cell: ({ topic }) => topic },
  { head: 'Here', kind: 'main', cell: ({ decision }) => decision },
]
