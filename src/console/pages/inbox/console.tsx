// The inbox's console: how it goes, what is in it, and who did what with it.
/** @jsxImportSource preact */
import { useEffect } from 'preact/hooks'
import { config } from '../config.ts'
import { connect } from '../live.ts'
import { Badge } from '../ui/badge.tsx'
import { type PlaceGroup, Shell } from '../ui/shell.tsx'
import { ActivityPage } from './activity.tsx'
import { EntriesPage } from './entries.tsx'
import { OverviewPage } from './overview.tsx'

const groups: readonly PlaceGroup[] = [
  {
    places: [
      { path: 'overview', title: 'Overview', letter: 'o', page: () => <OverviewPage /> },
      { path: 'entries', title: 'Entries', letter: 'e', page: () => <EntriesPage /> },
      { path: 'activity', title: 'Activity', letter: 'a', page: () => <ActivityPage /> },
    ],
  },
]

export function InboxConsole() {
  useEffect(() => connect(`${config.base}/api/events`), [])
  const foot = config.readOnly && <Badge tone="calm">read-only</Badge>
  return <Shell groups={groups} about={location.host} foot={foot} />
}
