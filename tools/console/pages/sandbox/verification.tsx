// The verifications of an organization, and the detail of one: its facts, its actions, its trail.
/** @jsxImportSource preact */

import {
  requirementNames,
  verificationStatuses,
  verificationTypes,
} from '../../../../src/protocol/values.ts'
import { dots, dotted } from '../../../../src/redaction/redact.ts'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { HttpStatus, Status } from '../ui/badge.tsx'
import { confirmed } from '../ui/confirm.tsx'
import { Detail, DetailHead, Facts } from '../ui/detail.tsx'
import { type FormField, words } from '../ui/form.tsx'
import { isRevealed, Masked, RevealButton } from '../ui/masked.tsx'
import { attempt, Copy } from '../ui/toast.tsx'
import { type FilterField, listed, RecordsPage } from './records.tsx'
import {
  type Assembled,
  control,
  type DeliveryLine,
  type MailRow,
  type TrailRow,
  type Verification,
} from './resources.ts'

const filters: readonly FilterField[] = [
  { name: 'type', choices: verificationTypes },
  { name: 'status', choices: verificationStatuses },
  { name: 'sort', choices: ['created_at', 'updated_at', 'status'] },
  ...['clientId', 'matterId', 'dateFrom', 'dateTo'].map((name) => ({ name, isRare: true })),
]

const fields: readonly FormField[] = [
  { name: 'type', kind: 'choice', choices: verificationTypes, required: true },
  { name: 'requirements', kind: 'choices', choices: requirementNames, required: true },
  { name: 'clientId', hint: 'a UUID' },
  { name: 'matterId', hint: 'a UUID' },
  { name: 'subjectName' },
  { name: 'subjectEmail' },
  { name: 'subjectPhone' },
  { name: 'expiresDays', kind: 'number', hint: '1 to 90, 7 by default' },
  { name: 'config', kind: 'json', hint: 'JSON' },
  { name: 'thirdParties', kind: 'json', hint: 'JSON: [{ "name", "email", "org" }]' },
]

export function VerificationsPage() {
  return (
    <RecordsPage<Verification>
      title="Verifications"
      what="verification"
      filters={filters}
      fields={fields}
      first={{ type: 'idv', requirements: ['document'] }}
      hint="A subject named “Auto Approve”, “Auto Reject” or “Auto Review” is decided automatically."
      row={(one) => <Row of={one} />}
      detail={VerificationDetail}
      none="Create one here or through the API. Its subject gets a link, its events go to every subscription, and this list updates by itself."
      more={
        <a class="button" href={href(['subscriptions'])}>
          Add a subscription
        </a>
      }
    />
  )
}

function Row({ of }: { readonly of: Verification }) {
  return (
    <>
      <span>
        <Status of={of.status} />
      </span>
      <span>
        <Masked of={listed}>{of.subjectName ?? of.subjectEmail}</Masked>{' '}
        <span class="muted mono">{of.id.slice(0, 8)}</span>
      </span>
      <span class="muted more">{of.type}</span>
      <span class="muted more">{of.requirements.join(', ')}</span>
      <span class="muted end">
        <Time at={of.createdAt} />
      </span>
    </>
  )
}

interface ShownStep {
  readonly completedAt: string
  readonly [field: string]: unknown
}

interface CaseView {
  readonly verification: Assembled
  /** By step; null until it is completed. */
  readonly data: Readonly<Record<string, ShownStep | null>>
  readonly allowed: readonly string[]
  readonly link: string
  readonly deliveries: readonly DeliveryLine[]
  readonly mail: readonly MailRow[]
}

interface VerificationDetailProps {
  readonly id: string
  readonly onClose: () => void
}

function VerificationDetail({ id, onClose }: VerificationDetailProps) {
  const { data, problem } = useLoad({
    key: `verification ${id}`,
    ask: (signal) =>
      call<CaseView>(`/_console/verifications/${encodeURIComponent(id)}`, { signal }),
    on: ['verification', 'delivery', 'mail', 'state'],
  })
  return (
    <Detail label="Verification" problem={problem} onClose={onClose}>
      {data && <Whole shown={data} onClose={onClose} />}
    </Detail>
  )
}

function Whole({ shown, onClose }: { readonly shown: CaseView; readonly onClose: () => void }) {
  const { verification: one, link } = shown
  return (
    <>
      <DetailHead
        title={<Masked of={one.id}>{one.subjectName ?? one.id}</Masked>}
        onClose={onClose}
      >
        <Status of={one.status} />
        <RevealButton of={one.id}>Reveal identity data</RevealButton>
      </DetailHead>
      <div class="stack">
        <Actions shown={shown} />
        <section>
          <h3>Facts</h3>
          <Facts
            of={{
              Id: <code>{one.id}</code>,
              Type: one.type,
              Score: one.score === null ? 'none yet' : `${one.score} of 100`,
              Subject: <Masked of={one.id}>{one.subjectName}</Masked>,
              'E-mail': <Masked of={one.id}>{one.subjectEmail}</Masked>,
              Phone: <Masked of={one.id}>{one.subjectPhone}</Masked>,
              Client: one.clientId && <a href={href(['clients', one.clientId])}>{one.clientId}</a>,
              Created: <Time at={one.createdAt} />,
              Expires: <Time at={one.expiresAt} />,
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
        </section>
        <Steps shown={shown} />
        <Trail of={one.id} entries={one.steps} />
        <History deliveries={shown.deliveries} />
      </div>
    </>
  )
}

const warnings: Readonly<Record<string, string>> = {
  cancel: 'This is final. verification.canceled is sent to every subscription.',
  reject: 'This is final. verification.rejected is sent to every subscription.',
  expire: 'Its link expires now. verification.expired is sent to every subscription.',
}

/** A button for exactly what is legal now. */
function Actions({ shown: { verification, allowed } }: { readonly shown: CaseView }) {
  const { id } = verification
  const act = async (action: string) => {
    const work = async () => {
      const path = `${control}/verifications/${id}/actions`
      await call(path, { method: 'POST', body: { actions: [action] } })
      return `Done: ${action}`
    }
    const [title, text] = [`${words(action)} this verification?`, warnings[action]]
    if (text) await confirmed({ title, text, yes: words(action), danger: true }, work)
    else await attempt(work)
  }
  if (allowed.length === 0) return <p class="hint">It is final: no further action is possible.</p>
  return (
    <fieldset class="actions" aria-label="Actions">
      {allowed.map((action) => (
        <button
          key={action}
          type="button"
          class={action === 'approve' ? 'main' : warnings[action] ? 'danger' : ''}
          onClick={() => act(action)}
        >
          {words(action)}
        </button>
      ))}
    </fieldset>
  )
}

function Steps({ shown: { verification, data } }: { readonly shown: CaseView }) {
  const { id, requirements, currentStep } = verification
  return (
    <section>
      <h3>Steps</h3>
      <ol class="steps" data-testid="steps">
        {requirements.map((step) => {
          const given = data[step]
          const current = currentStep === step
          return (
            <li key={step}>
              <span aria-hidden="true">{given ? '✓' : current ? '◐' : '○'}</span>
              <strong>{words(step)}</strong>
              <span class="muted">
                {given ? <Time at={given.completedAt} /> : current ? 'being completed' : 'not yet'}
              </span>
              {given && <Given of={id} data={given} />}
            </li>
          )
        })}
      </ol>
    </section>
  )
}

/** The data of a step: the subject's answers, and the sandbox's own values for the rest. */
function Given({ of, data: { status: _, completedAt: __, ...rest } }: GivenProps) {
  const shown = isRevealed(of) ? rest : Object(dotted(rest, 'resource'))
  const pairs = Object.entries(shown)
  if (pairs.length === 0) return null
  return (
    <Facts of={Object.fromEntries(pairs.map(([name, value]) => [words(name), inWords(value)]))} />
  )
}

interface GivenProps {
  readonly of: string
  readonly data: ShownStep
}

function inWords(value: unknown) {
  if (value === dots) return <span class="masked">{dots}</span>
  if (value === null || (Array.isArray(value) && value.length === 0)) return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

interface TrailProps {
  readonly of: string
  readonly entries: readonly TrailRow[]
}

function Trail({ of, entries }: TrailProps) {
  return (
    <section>
      <h3>Audit trail</h3>
      <ol class="trail">
        {entries.map(({ at, action, actor, step, status, reason }) => (
          <li key={`${at} ${action} ${step}`}>
            <span>
              {words(action)}
              {step && ` ${step}`} <span class="muted">by the {actor}</span>{' '}
              {status !== 'initiated' && <Status of={status} />}
              {reason && <Masked of={of}>{reason}</Masked>}
            </span>
            <span class="muted">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The events of a resource, and what came of sending them. */
export function History({ deliveries }: { readonly deliveries: readonly DeliveryLine[] }) {
  return (
    <section>
      <h3>Events sent</h3>
      {deliveries.length === 0 ? (
        <p class="muted">
          None. <a href="#/subscriptions">Add a subscription</a> to have them sent.
        </p>
      ) : (
        <ul class="steps">
          {deliveries.map(({ id, event, status, attempts, createdAt }) => (
            <li key={id}>
              <Status of={status} />
              <a href={href(['deliveries', id])}>{event}</a>
              {attempts.length > 0 && <HttpStatus status={attempts.at(-1)?.status} />}
              <span class="muted">
                <Time at={createdAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
