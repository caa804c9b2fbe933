// The sandbox's console: its pages, in the order of how often they are wanted.
/** @jsxImportSource preact */
import { useEffect } from 'preact/hooks'
import { ActivityPage } from '../activity-page.tsx'
import { call } from '../call.ts'
import { config } from '../config.ts'
import { connect } from '../live.ts'
import { useLoad } from '../load.ts'
import { serverNow, setServerClock } from '../time.tsx'
import { type PlaceGroup, Shell } from '../ui/shell.tsx'
import { AccessPage } from './access.tsx'
import { ApiPage } from './api-page.tsx'
import { AssumptionsPage } from './assumptions.tsx'
import { ClientsPage } from './clients.tsx'
import { ClockPage } from './clock.tsx'
import { DeliveriesPage } from './deliveries.tsx'
import { FaultsPage } from './faults.tsx'
import { OutboxPage } from './outbox.tsx'
import { control } from './resources.ts'
import { SubscriptionsPage } from './subscriptions.tsx'
import { VerificationsPage } from './verifications.tsx'

const groups: readonly PlaceGroup[] = [
  {
    places: [
      {
        path: 'verifications',
        title: 'Verifications',
        letter: 'v',
        page: () => <VerificationsPage />,
      },
      { path: 'clients', title: 'Clients', letter: 'c', page: () => <ClientsPage /> },
      { path: 'deliveries', title: 'Deliveries', letter: 'd', page: () => <DeliveriesPage /> },
      {
        path: 'subscriptions',
        title: 'Subscriptions',
        letter: 's',
        page: () => <SubscriptionsPage />,
      },
      { path: 'outbox', title: 'Outbox', letter: 'o', page: () => <OutboxPage /> },
    ],
  },
  {
    title: 'Conditions',
    places: [
      { path: 'clock', title: 'Clock', letter: 't', page: () => <ClockPage /> },
      { path: 'faults', title: 'Faults', letter: 'f', page: () => <FaultsPage /> },
      { path: 'access', title: 'Access', letter: 'k', page: () => <AccessPage /> },
      { path: 'reveals', title: 'Reveals', letter: 'r', page: () => <Reveals /> },
    ],
  },
  {
    title: 'Reference',
    places: [
      { path: 'api', title: 'API', letter: 'a', page: () => <ApiPage /> },
      {
        path: 'assumptions',
        title: 'Assumptions',
        letter: 'u',
        page: () => <AssumptionsPage />,
      },
    ],
  },
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

interface Clock {
  readonly now: string
  readonly frozen: boolean
}

/** The sandbox's time is not everybody's: it is said wherever one is. */
function ClockNote() {
  const { data } = useLoad({
    key: 'clock',
    ask: (signal) => call<Clock>(`${control}/clock`, { signal }),
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
