// The verifications of an organization, and one of them: its data, its actions, its trail.
/** @jsxImportSource preact */
import {
  requirementNames,
  verificationStatuses,
  verificationTypes,
} from '../../../../src/protocol/values.ts'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Button, Copy } from '../ui/actions.tsx'
import { type FormField, words } from '../ui/form.tsx'
import { Detail, type DetailProps, type FilterField } from '../ui/list-page.tsx'
import { Facts, Id, Section, Status, stateWords } from '../ui/parts.tsx'
import type { Column } from '../ui/table.tsx'
import { DeliveryTable } from './overview.tsx'
import { RecordsPage, since } from './records.tsx'
import {
  assumptions,
  control,
  type DeliverySummary,
  own,
  type ShownVerification,
  type TrailEntry,
  type Verification,
} from './resources.ts'

const filters: readonly FilterField[] = [
  {
    name: 'status',
    label: 'Status',
    choices: [
      ...verificationStatuses.map((one) => [one, stateWords(one)] as const),
      ['initiated,in_progress', 'to complete'],
      ['submitted,pending_review', 'to decide'],
    ],
  },
  {
    name: 'type',
    label: 'Type',
    choices: verificationTypes.map((one) => [one, words(one)] as const),
  },
  since,
  { name: 'sort', label: 'Sort', choices: [['updated_at', 'last changed'], 'status'] },
]

const fields: readonly FormField[] = [
  { name: 'subjectName' },
  { name: 'subjectEmail', hint: 'The invitation goes there; see the outbox' },
  { name: 'subjectPhone' },
  { name: 'type', kind: 'choice', choices: verificationTypes, isRequired: true },
  {
    name: 'expiresDays',
    label: 'Expires after',
    kind: 'number',
    hint: '1 to 90 days, 7 by default',
  },
  { name: 'requirements', kind: 'choices', choices: requirementNames, isRequired: true },
  { name: 'clientId', label: 'Client ID', hint: 'A UUID', isRare: true },
  { name: 'matterId', label: 'Matter ID', hint: 'A UUID', isRare: true },
  { name: 'config', kind: 'json', hint: 'JSON', isRare: true },
  { name: 'thirdParties', kind: 'json', hint: 'JSON: [{ "name", "email", "org" }]', isRare: true },
]

const columns: readonly Column<Verification>[] = [
  { head: 'Status', cell: ({ status }) => <Status of={status} /> },
  {
    head: 'Subject',
    kind: 'main',
    cell: ({ subjectName, subjectEmail, id }) => subjectName ?? subjectEmail ?? id.slice(0, 8),
  },
  { head: 'Type', kind: 'more', cell: ({ type }) => words(type) },
  {
    head: 'Requirements',
    kind: 'more',
    cell: ({ requirements }) => requirements.map(words).join(', '),
  },
  { head: 'ID', kind: 'more', cell: ({ id }) => <code>{id.slice(0, 8)}</code> },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

export function VerificationsPage() {
  const { data } = useLoad(assumptions)
  const [name = { name: '' }, ...others] = fields
  return (
    <RecordsPage<Verification>
      title="Verifications"
      what="verification"
      filters={filters}
      columns={columns}
      fields={[{ ...name, chips: data?.magicNames ?? [] }, ...others]}
      start={{ type: 'idv', requirements: ['document'] }}
      detail={VerificationDetail}
      empty="Create one here or through the API. Its subject gets a link, its events go to every subscription, and this list updates by itself."
    />
  )
}

function VerificationDetail({ id, onClose }: DetailProps) {
  const { data, problem } = useLoad({
    key: `verification ${id}`,
    ask: (signal) =>
      call<ShownVerification>(`${own}/verifications/${encodeURIComponent(id)}`, { signal }),
    on: ['verification', 'delivery', 'state'],
  })
  const { verification } = data ?? {}
  return (
    <Detail
      label="Verification"
      title={verification?.subjectName ?? 'Verification'}
      problem={problem}
      onClose={onClose}
      actions={data && <Actions shown={data} />}
    >
      {data && (
        <>
          <VerificationFacts shown={data} />
          <Steps shown={data} />
          <Trail entries={data.verification.steps as readonly TrailEntry[]} />
          <EventsSent deliveries={data.deliveries} />
        </>
      )}
    </Detail>
  )
}

const warnings: Readonly<Record<string, string>> = {
  cancel: 'This is final. verification.canceled is sent to every subscription.',
  reject: 'This is final. verification.rejected is sent to every subscription.',
  expire: 'Its link expires now. verification.expired is sent to every subscription.',
}

/** Actions as they are told once they are done. */
const done: Readonly<Record<string, string>> = {
  create: 'Created',
  start: 'Started',
  submit: 'Submitted',
  review: 'Put under review',
  approve: 'Approved',
  reject: 'Rejected',
  cancel: 'Canceled',
  expire: 'Expired',
}

/** A button for exactly what is legal now. */
function Actions({ shown: { verification, allowed } }: { readonly shown: ShownVerification }) {
  const { id, status } = verification
  const act = async (action: string) => {
    const path = `${control}/verifications/${id}/actions`
    await call(path, { method: 'POST', body: { actions: [action] } })
    return done[action]
  }
  return (
    <>
      <Status of={status} />
      {allowed.length === 0 && <span class="muted">This verification is final.</span>}
      <fieldset class="actions" aria-label="Actions">
        {allowed.map((action) => {
          const text = warnings[action]
          const title = `${words(action)} this verification?`
          return (
            <Button
              key={action}
              kind={action === 'approve' ? 'main' : text ? 'danger' : undefined}
              question={text ? { title, text } : undefined}
              work={() => act(action)}
            >
              {words(action)}
            </Button>
          )
        })}
      </fieldset>
    </>
  )
}

function VerificationFacts({
  shown: { verification, link },
}: {
  readonly shown: ShownVerification
}) {
  const { id, type, score, subjectName, subjectEmail, subjectPhone } = verification
  const { clientId, createdAt, expiresAt } = verification
  return (
    <Section title="Details">
      <Facts
        of={{
          ID: <Id of={id} />,
          Type: words(type),
          Score: score === null ? 'none yet' : `${score} of 100`,
          Subject: subjectName,
          Email: subjectEmail,
          Phone: subjectPhone,
          Client: clientId && <Id of={clientId} href={href(['clients', clientId])} />,
          Created: <Time at={createdAt} />,
          Expires: <Time at={expiresAt} />,
          'Subject’s page': (
            <span class="actions">
              <a href={link} target="_blank" rel="noreferrer">
                Open
              </a>
              <Copy text={() => new URL(link, location.href).href}>Copy link</Copy>
            </span>
          ),
        }}
      />
    </Section>
  )
}

function Steps({
  shown: { verification, data, completed },
}: {
  readonly shown: ShownVerification
}) {
  const { requirements, currentStep } = verification
  return (
    <Section title="Steps">
      <ol class="steps" data-testid="steps">
        {requirements.map((step) => {
          const given = data[step]
          const isCurrent = currentStep === step
          return (
            <li key={step}>
              <span aria-hidden="true">{given ? '✓' : isCurrent ? '◐' : '○'}</span>
              <strong>{words(step)}</strong>
              {given ? (
                <Time at={completed[step]} />
              ) : (
                <span class="muted">{isCurrent ? 'in progress' : 'not yet'}</span>
              )}
              {given && <Given data={given} />}
            </li>
          )
        })}
      </ol>
    </Section>
  )
}

/** The data of a step: the subject's answers, and the sandbox's own values for the rest. */
function Given({ data: { status: _, completedAt: __, ...rest } }: { readonly data: ShownStep }) {
  const pairs = Object.entries(rest).map(([name, value]) => [words(name), inWords(value)])
  return pairs.length === 0 ? null : <Facts of={Object.fromEntries(pairs)} />
}

type ShownStep = NonNullable<ShownVerification['data'][string]>

function inWords(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function Trail({ entries }: { readonly entries: readonly TrailEntry[] }) {
  return (
    <Section title="History">
      <ol class="timeline">
        {entries.map(({ at, action, actor, step, status, reason }) => (
          <li key={`${at} ${action} ${step}`}>
            {done[action] ?? words(action)} {step && words(step).toLowerCase()}{' '}
            <span class="muted">by {actor}</span> {status !== 'initiated' && <Status of={status} />}{' '}
            {reason} <Time at={at} />
          </li>
        ))}
      </ol>
    </Section>
  )
}

/** The events of a resource, and what came of sending them. */
export function EventsSent({ deliveries }: { readonly deliveries: readonly DeliverySummary[] }) {
  return (
    <Section title="Events sent">
      {deliveries.length === 0 && (
        <p class="muted">
          None. <a href={href(['subscriptions'])}>Add a subscription</a> to receive them.
        </p>
      )}
      <DeliveryTable label="Events sent" deliveries={deliveries} />
    </Section>
  )
}
