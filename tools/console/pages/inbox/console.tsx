// The inbox's console: its state, its entries, and the record of what users did with them.
import { computed } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Activity } from '../../inbox-routes.ts'
import { href } from '../route.ts'
import { config, connect, listAt, stats, useLoad } from '../server.ts'
import { Time } from '../time.tsx'
import { type Column, TableCard } from '../ui/list.tsx'
import { Badge, counted, Empty, Failed, Page } from '../ui/parts.tsx'
import { place, Shell } from '../ui/shell.tsx'
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

const dead = computed(() => stats.value?.dead)

export function InboxConsole() {
  useEffect(() => connect(`${config.base}/api/events`), [])
  const places = [
    place('Overview', 'o', OverviewPage),
    { ...place('Entries', 'e', EntriesPage), badge: dead.value },
    place('Audit log', 'a', AuditPage),
  ]
  const foot = config.readOnly && <Badge words="read-only" />
  return <Shell {...{ places, commands, searches, foot }} />
}

const columns: readonly Column<Activity>[] = [
  { head: 'When', cell: ({ at }) => <Time at={at} /> },
  { head: 'Who', cell: ({ by }) => by ?? 'unknown' },
  { head: 'Action', cell: ({ action }) => <Badge words={action} /> },
  { head: 'On', kind: 'main', cell: ({ what }) => what },
]

const activities = listAt<Activity>(`${config.base}/api/activity`, ['changed', 'stats'])

function AuditPage() {
  const { data, problem } = useLoad(activities)
  return (
    <Page title="Audit log" count={data && counted(data.length, ['action', 'actions'])}>
      <Failed problem={problem} />
      {data?.length === 0 ? (
        <Empty
          title="No activity yet"
          text="Every reveal of a payload and every redrive, replay, dismissal and erasure made here is recorded. This process keeps the latest thousand; onActivity hands each to your own log."
        />
      ) : (
        <TableCard
          label="Latest first"
          items={data ?? []}
          columns={columns}
          idOf={({ at, what, action }) => `${at} ${what} ${action}`}
          hrefOf={({ what }) =>
            /^[0-9a-f-]{36}$/.test(what) ? href(['entries', what]) : undefined
          }
        />
      )}
    </Page>
  )
}
