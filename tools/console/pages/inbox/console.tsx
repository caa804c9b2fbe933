// The inbox's console: how it is doing, what is in it, and who did what with it.
/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import type { Activity } from '../../activity.ts'
import { config } from '../call.ts'
import { connect, listen, useList } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Badge, Card, Empty, Failed, Page } from '../ui/parts.tsx'
import { place, Shell } from '../ui/shell.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { EntriesPage } from './entries.tsx'
import { OverviewPage } from './overview.tsx'

const commands = [
  { title: 'Dead letters', href: href(['entries'], { state: 'dead' }) },
  { title: 'Retrying entries', href: href(['entries'], { state: 'retry' }) },
]

const searches = (search: string) => [
  { title: `Entries with “${search}”`, href: href(['entries'], { search }) },
  { title: `The entry ${search}`, href: href(['entries', search]) },
]

export function InboxConsole() {
  useEffect(() => connect(`${config.base}/api/events`), [])
  const [dead, setDead] = useState(0)
  useEffect(() => listen<{ readonly dead: number }>('stats', ({ dead }) => setDead(dead)), [])
  const places = [
    place('Overview', 'o', OverviewPage),
    { ...place('Entries', 'e', EntriesPage), badge: dead },
    place('Audit log', 'a', AuditPage),
  ]
  const foot = config.readOnly && <Badge tone="calm">read-only</Badge>
  return <Shell groups={[{ places }]} {...{ commands, searches, foot }} />
}

const columns: readonly Column<Activity>[] = [
  { head: 'When', cell: ({ at }) => <Time at={at} /> },
  { head: 'Who', cell: ({ by }) => by ?? 'unknown' },
  { head: 'Action', cell: ({ action }) => <Badge tone="calm">{action}</Badge> },
  { head: 'On', kind: 'main', cell: ({ what }) => what },
]

function AuditPage() {
  const { data, problem } = useList<Activity>(`${config.base}/api/activity`, ['changed', 'stats'])
  return (
    <Page title="Audit log" count={data && `${data.length} in all`}>
      <Failed problem={problem} />
      {data?.length === 0 && (
        <Empty title="No activity yet">
          <p>
            Every reveal of a payload and every redrive, replay, dismissal and erasure made here is
            recorded. This process keeps the latest thousand; <code>onActivity</code> hands each to
            your own log.
          </p>
        </Empty>
      )}
      {data && data.length > 0 && (
        <Card title="Latest first">
          <Table
            label="Audit log"
            items={data}
            columns={columns}
            idOf={({ at, what, action }) => `${at} ${what} ${action}`}
            hrefOf={({ what }) =>
              /^[0-9a-f-]{36}$/.test(what) ? href(['entries', what]) : undefined
            }
          />
        </Card>
      )}
    </Page>
  )
}
