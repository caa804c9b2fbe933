// The inbox's console: how it goes, what is in it, and who did what with it.
/** @jsxImportSource preact */
import { useEffect } from 'preact/hooks'
import { ActivityPage } from '../activity-page.tsx'
import { config } from '../call.ts'
import { connect } from '../load.ts'
import { href } from '../route.ts'
import { Badge } from '../ui/badge.tsx'
import { place, Shell } from '../ui/shell.tsx'
import { EntriesPage } from './entries.tsx'
import { OverviewPage } from './overview.tsx'

const places = [
  place('Overview', 'o', OverviewPage),
  place('Entries', 'e', EntriesPage),
  place('Activity', 'a', Activity),
]

export function InboxConsole() {
  useEffect(() => connect(`${config.base}/api/events`), [])
  const foot = config.readOnly && <Badge tone="calm">read-only</Badge>
  return <Shell groups={[{ places }]} about={location.host} foot={foot} />
}

function Activity() {
  return (
    <ActivityPage
      title="Activity"
      path={`${config.base}/api/activity`}
      on={['changed', 'stats']}
      hrefOf={(what) => (/^[0-9a-f-]{36}$/.test(what) ? href(['entries', what]) : undefined)}
    >
      <p>
        Every reveal of a person’s data and every redrive, replay, dismissal and erasure made here
        is recorded. This process keeps the latest thousand; <code>onActivity</code> hands each to
        your own log.
      </p>
    </ActivityPage>
  )
}
