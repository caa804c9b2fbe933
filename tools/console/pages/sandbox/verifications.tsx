// The verifications of an organization, and one of them: its data, its actions, its trail.
import type { Verification } from '../../../../src/protocol/resources.ts'
import {
  requirementNames,
  verificationStatuses,
  verificationTypes,
} from '../../../../src/protocol/values.ts'
import type { ShownVerification } from '../../../sandbox/console.ts'
import type { TrailEntry } from '../../../sandbox/schemas/snapshot.ts'
import { href } from '../route.ts'
import { at, change, useLoad } from '../server.ts'
import { since, Time } from '../time.tsx'
import { type FormField, words } from '../ui/form.tsx'
import { type Column, Detail } from '../ui/list.tsx'
import {
  Button,
  Card,
  Copy,
  Details,
  Facts,
  Id,
  LinkButton,
  Status,
  stateWords,
  worded,
} from '../ui/parts.tsx'
import { EventsSent } from './deliveries.tsx'
import { assumptions, control, own, RecordsPage } from './records.tsx'

const filters = [
  {
    name: 'status',
    label: 'Status',
    choices: [
      ...worded(verificationStatuses, stateWords),
      ['initiated,in_progress', 'to complete'],
      ['submitted,pending_review', 'to decide'],
    ],
  },
  { name: 'type', label: 'Type', choices: worded(verificationTypes, words) },
  since('Created'),
  { name: 'sort', label: 'Sort', choices: [['updated_at', 'last changed'], 'status'] },
] as const

const fields: readonly FormField[] = [
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
  { head: 'Subject', kind: 'main', cell: nameOf },
  { head: 'Type', kind: 'more', cell: ({ type }) => words(type) },
  {
    head: 'Requirements',
    kind: 'more',
    cell: ({ requirements }) => requirements.map(words).join(', '),
  },
  { head: 'ID', cell: ({ id }) => <code>{id.slice(0, 8)}</code> },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

function nameOf({ subjectName, subjectEmail, id }: Verification): string {
  return subjectName ?? subjectEmail ?? id.slice(0, 8)
}

export function VerificationsPage() {
  const chips = useLoad(assumptions).data?.magicNames ?? []
  return (
    <RecordsPage<Verification>
      what="verification"
      filters={filters}
      columns={columns}
      fields={[{ name: 'subjectName', chips }, ...fields]}
      start={{ type: 'idv', requirements: ['document'] }}
      detail={VerificationDetail}
      searchHint="Name or email"
      empty="Create one here or through the API. Its subject gets a link, its events go to every subscription, and this list updates by itself."
    />
  )
}

function VerificationDetail({ id }: { readonly id: string }) {
  const path = `${own}/verifications/${encodeURIComponent(id)}`
  return (
    <Detail
      label="Verification"
      load={useLoad(at<ShownVerification>(path, ['verification', 'delivery', 'state']))}
      title={({ verification }) => nameOf(verification)}
      actions={(shown) => <Actions of={shown} />}
    >
      {(shown) => (
        <>
          <Details of={detailsOf(shown)} />
          <Steps of={shown} />
          <Trail entries={shown.verification.steps as readonly TrailEntry[]} />
          <EventsSent items={shown.deliveries} />
        </>
      )}
    </Detail>
  )
}

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

function Actions({ of: { verification, allowed } }: { readonly of: ShownVerification }) {
  const { id, status } = verification
  const act = (action: string) =>
    change(done[action] ?? 'Done', `${control}/verifications/${id}/actions`, {
      body: { actions: [action] },
    })
  const button = (action: string) => {
    const isDanger = ['cancel', 'reject', 'expire'].includes(action)
    const kind = action === 'approve' ? 'main' : isDanger ? 'danger' : undefined
    const text = `This is final. verification.${done[action]?.toLowerCase()} is sent to every subscription.`
    const question = isDanger ? { title: `${words(action)} this verification?`, text } : undefined
    return (
      <Button
        key={action}
        kind={kind}
        question={question}
        work={act(action)}
        words={words(action)}
      />
    )
  }
  return (
    <>
      <Status of={status} />
      {allowed.length === 0 && <span class="muted">This verification is final.</span>}
      <fieldset class="actions" aria-label="Actions">
        {allowed.map(button)}
      </fieldset>
    </>
  )
}

function detailsOf({ verification, link }: ShownVerification) {
  const { id, type, score, subjectName, subjectEmail, subjectPhone } = verification
  const { clientId, createdAt, expiresAt } = verification
  const page = (
    <span class="actions">
      <LinkButton to={link} words="Open" isApart />
      <Copy text={() => new URL(link, location.href).href} words="Copy link" />
    </span>
  )
  return {
    ID: <Id of={id} />,
    Type: words(type),
    Score: score === null ? 'none yet' : `${score} of 100`,
    'Subject name': subjectName,
    'Subject email': subjectEmail,
    'Subject phone': subjectPhone,
    Client: clientId && <Id of={clientId} href={href(['clients', clientId])} />,
    Created: <Time at={createdAt} />,
    Expires: <Time at={expiresAt} />,
    'Subject’s page': page,
  }
}

function Steps({ of: { verification, data, completed } }: { readonly of: ShownVerification }) {
  const { requirements, currentStep } = verification
  return (
    <Card title="Steps">
      <ol class="steps" data-testid="steps">
        {requirements.map((step) => {
          const given = data[step]
          const [sign, state] = step === currentStep ? ['◐', 'in progress'] : ['○', 'not yet']
          return (
            <li key={step}>
              <span aria-hidden="true">{given ? '✓' : sign}</span>
              <strong>{words(step)}</strong>
              {given ? <Time at={completed[step]} /> : <span class="muted">{state}</span>}
              {given && <Facts of={inWords(given)} />}
            </li>
          )
        })}
      </ol>
    </Card>
  )
}

/** The data of a step: the subject's answers, and the sandbox's own values for the rest. */
function inWords({ status: _, completedAt: __, ...rest }: Readonly<Record<string, unknown>>) {
  const text = (value: unknown) => {
    if (value === null || (Array.isArray(value) && value.length === 0)) return '–'
    if (typeof value === 'boolean') return value ? 'yes' : 'no'
    return typeof value === 'object' ? JSON.stringify(value) : String(value)
  }
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [words(name), text(value)]))
}

function Trail({ entries }: { readonly entries: readonly TrailEntry[] }) {
  return (
    <Card title="History">
      <ol class="timeline">
        {entries.map(({ at, action, actor, step, status, reason }) => (
          <li key={`${at} ${action} ${step}`}>
            {done[action] ?? words(action)} {step && words(step).toLowerCase()}{' '}
            <span class="muted">by {actor}</span> {status !== 'initiated' && <Status of={status} />}{' '}
            {reason} <Time at={at} />
          </li>
        ))}
      </ol>
    </Card>
  )
}
