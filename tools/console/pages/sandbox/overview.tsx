// How the sandbox is doing: counts, the deliveries that fail, and what happens next.
import type { Overview } from '../../../sandbox/console.ts'
import { href } from '../route.ts'
import { useLoad } from '../server.ts'
import { Time } from '../time.tsx'
import { type Column, TableCard } from '../ui/list.tsx'
import { Card, Failed, Figure, Page } from '../ui/parts.tsx'
import { DeliveryTable } from './deliveries.tsx'
import { NewVerification, overview } from './records.tsx'

const figures = [
  ['failed deliveries', 'deliveries', 'failed'],
  ['pending deliveries', 'deliveries', 'pending'],
  ['delivered', 'deliveries', 'delivered'],
  ['verifications to complete', 'verifications', 'initiated,in_progress'],
  ['verifications to decide', 'verifications', 'submitted,pending_review'],
] as const

export function OverviewPage() {
  const { data, problem } = useLoad(overview)
  const countOf = (page: 'deliveries' | 'verifications', states: string) =>
    states.split(',').reduce((sum, state) => sum + (data?.[page][state] ?? 0), 0)
  return (
    <Page title="Overview" actions={<NewVerification />}>
      <Failed problem={problem} />
      <div class="figures">
        {figures.map(([name, page, status]) => (
          <Figure
            key={name}
            name={name}
            value={countOf(page, status)}
            isBad={status === 'failed' && countOf(page, status) > 0}
            href={href([page], { status })}
          />
        ))}
      </div>
      <Card title="Failing deliveries">
        <DeliveryTable
          label="Failing deliveries"
          items={data?.failing ?? []}
          none="None: every delivery that was sent arrived."
        />
      </Card>
      <DueCard due={data?.due ?? []} />
    </Page>
  )
}

type DueItem = Overview['due'][number]

const dueColumns: readonly Column<DueItem>[] = [
  { head: 'At', cell: ({ at }) => <Time at={at} /> },
  { head: 'Of', kind: 'main', cell: ({ name }) => name },
  { head: 'Happens', cell: happens },
  { head: 'About', cell: ({ resourceId }) => <code>{resourceId.slice(0, 8)}</code> },
]

function happens({ attempts }: DueItem): string {
  if (attempts === undefined) return 'verification expires'
  return attempts.length === 0 ? 'first attempt' : `attempt ${attempts.length + 1}`
}

export function DueCard({ due }: { readonly due: readonly DueItem[] }) {
  const pageOf = ({ attempts }: DueItem) =>
    attempts === undefined ? 'verifications' : 'deliveries'
  return (
    <TableCard
      label="Due next"
      items={due}
      columns={dueColumns}
      idOf={({ id }) => id}
      hrefOf={(one) => href([pageOf(one), one.id])}
      none="Nothing is due."
    />
  )
}
