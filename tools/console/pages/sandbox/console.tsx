// The sandbox's console: its pages, in the order of how often they are wanted.
/** @jsxImportSource preact */
import { useEffect } from 'preact/hooks'
import { ActivityPage } from '../activity-page.tsx'
import { call, config } from '../call.ts'
import { connect, useLoad } from '../load.ts'
import { serverNow, setServerClock } from '../time.tsx'
import { type PlaceGroup, place, Shell } from '../ui/shell.tsx'
import { AccessPage } from './access.tsx'
import { AssumptionsPage } from './assumptions.tsx'
import { ClientsPage } from './clients.tsx'
import { ClockPage, type ShownClock } from './clock.tsx'
import { DeliveriesPage } from './deliveries.tsx'
import { FaultsPage } from './faults.tsx'
import { OutboxPage } from './outbox.tsx'
import { control } from './resources.ts'
import { SubscriptionsPage } from './subscriptions.tsx'
import { VerificationsPage } from './verification.tsx'

const groups: readonly PlaceGroup[] = [
  {
    places: [
      place('Verifications', 'v', VerificationsPage),
      place('Clients', 'c', ClientsPage),
      place('Deliveries', 'd', DeliveriesPage),
      place('Subscriptions', 's', SubscriptionsPage),
      place('Outbox', 'o', OutboxPage),
    ],
  },
  {
    title: 'Conditions',
    places: [
      place('Clock', 't', ClockPage),
      place('Faults', 'f', FaultsPage),
      place('Access', 'k', AccessPage),
      place('Reveals', 'r', Reveals),
    ],
  },
  { title: 'Reference', places: [place('Assumptions', 'u', AssumptionsPage)] },
]

function Reveals() {
  return (
    <ActivityPage title="Reveals" path={`${config.base}/reveals`} on={[]} hrefOf={() => undefined}>
      <p>
        Personal data is masked on every page. Each time somebody reveals it or copies a delivery,
        that is recorded here, as in the console of your inbox.
      </p>
    </ActivityPage>
  )
}

export function SandboxConsole() {
  useEffect(() => connect(`${control}/events`), [])
  return <Shell groups={groups} about={location.host} foot={<ClockNote />} />
}

/** The sandbox's time is not everybody's: it is said wherever one is. */
function ClockNote() {
  const { data } = useLoad({
    key: 'clock',
    ask: (signal) => call<ShownClock>(`${control}/clock`, { signal }),
    on: ['clock', 'state'],
  })
  useEffect(() => {
    if (data) setServerClock(data.now, data.frozen)
  }, [data])
  if (!data || (!data.frozen && Math.abs(serverNow() - Date.now()) < 60_000)) return null
  return (
    <a class="wide" href="#/clock">
      {data.frozen ? 'Clock frozen at ' : 'Clock at '}
      {new Date(serverNow()).toISOString().slice(0, 16).replace('T', ' ')}
    </a>
  )
}
