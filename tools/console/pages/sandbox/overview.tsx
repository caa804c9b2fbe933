// How the sandbox is doing: counts, the deliveries that fail, and what happens next.
/** @jsxImportSource preact */
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Card, Failed, Figure, HttpStatus, Page, Status } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { type DeliverySummary, type DueItem, overview } from './resources.ts'

export function OverviewPage() {
  const { data, problem } = useLoad(overview)
  const { verifications = {}, deliveries = {}, failing = [], due = [] } = data ?? {}
  const sent = (status: string, name = `${status} deliveries`) => (
    <Figure
      name={name}
      value={deliveries[status] ?? 0}
      tone={status === 'failed' && deliveries.failed ? 'bad' : undefined}
      href={href(['deliveries'], { status })}
    />
  )
  const open = (name: string, ...statuses: readonly string[]) => (
    <Figure
      name={name}
      value={statuses.reduce((sum, status) => sum + (verifications[status] ?? 0), 0)}
      href={href(['verifications'], { status: statuses.join(',') })}
    />
  )
  return (
    <Page title="Overview" actions={<NewVerification />}>
      <Failed problem={problem} />
      <div class="figures">
        {sent('failed')}
        {sent('pending')}
        {sent('delivered', 'delivered')}
        {open('verifications to complete', 'initiated', 'in_progress')}
        {open('verifications to decide', 'submitted', 'pending_review')}
      </div>
      <Card title="Failing deliveries">
        {failing.length === 0 && <p class="muted">None: every delivery that was sent arrived.</p>}
        <DeliveryTable label="Failing deliveries" deliveries={failing} />
      </Card>
      <Card title="Due next">
        <DueTable due={due} />
      </Card>
    </Page>
  )
}

/** A delivery that waits for its next attempt is retrying. */
export const statusOf = ({ status, attempts }: DeliverySummary) =>
  status === 'pending' && attempts.length > 0 ? 'retry' : status

export const response = ({ attempts }: DeliverySummary) =>
  attempts.length > 0 && <HttpStatus status={attempts.at(-1)?.status} />

const deliveryColumns: readonly Column<DeliverySummary>[] = [
  { head: 'Status', cell: (one) => <Status of={statusOf(one)} /> },
  { head: 'Event', kind: 'main', cell: ({ event }) => event },
  { head: 'Response', cell: response },
  { head: 'Attempts', cell: ({ attempts }) => attempts.length },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

interface DeliveryTableProps {
  readonly label: string
  readonly deliveries: readonly DeliverySummary[]
}

export function DeliveryTable({ label, deliveries }: DeliveryTableProps) {
  if (deliveries.length === 0) return null
  return (
    <Table
      label={label}
      items={deliveries}
      columns={deliveryColumns}
      idOf={({ id }) => id}
      hrefOf={({ id }) => href(['deliveries', id])}
    />
  )
}

export const NewVerification = () => (
  <a class="button main" href={href(['verifications', 'new'])}>
    New verification
  </a>
)

const dueColumns: readonly Column<DueItem>[] = [
  { head: 'At', cell: ({ at }) => <Time at={at} /> },
  { head: 'Happens', cell: happens },
  { head: 'To', kind: 'main', cell: ({ name }) => name },
]

function happens({ attempts }: DueItem): string {
  if (attempts === undefined) return 'verification expires'
  return attempts === 0 ? 'first attempt' : `attempt ${attempts + 1}`
}

/** Lists what falls due next, by the sandbox's clock. */
export function DueTable({ due }: { readonly due: readonly DueItem[] }) {
  if (due.length === 0) return <p class="muted">Nothing is due.</p>
  return (
    <Table
      label="Due next"
      items={due}
      columns={dueColumns}
      idOf={({ id }) => id}
      hrefOf={({ id, attempts }) =>
        href([attempts === undefined ? 'verifications' : 'deliveries', id])
      }
    />
  )
}
