// One verification: what it is, what may be done with it now, how it came there, what was told of it.
/** @jsxImportSource preact */
import { dots, dotted } from '../../../../src/redaction/redact.ts'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { HttpStatus, Status } from '../ui/badge.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Copy } from '../ui/copy.tsx'
import { Detail, DetailHead, Fact, Facts } from '../ui/detail.tsx'
import { words } from '../ui/form.tsx'
import { isRevealed, Masked, RevealButton } from '../ui/masked.tsx'
import { attempt } from '../ui/toast.tsx'
import {
  type Assembled,
  control,
  type DeliverySummary,
  type Mail,
  type TrailEntry,
} from './resources.ts'

interface StepData {
  readonly completedAt: string
  readonly [field: string]: unknown
}

interface Shown {
  readonly verification: Assembled
  /** By step; null until it is completed. */
  readonly data: Readonly<Record<string, StepData | null>>
  readonly allowed: readonly string[]
  readonly link: string
  readonly deliveries: readonly DeliverySummary[]
  readonly mail: readonly Mail[]
}

interface DetailProps {
  readonly id: string
  readonly onClose: () => void
}

export function VerificationDetail({ id, onClose }: DetailProps) {
  const { data, problem } = useLoad({
    key: `verification ${id}`,
    ask: (signal) => call<Shown>(`/_console/verifications/${encodeURIComponent(id)}`, { signal }),
    on: ['verification', 'delivery', 'mail', 'state'],
  })
  return (
    <Detail label="Verification" problem={problem} onClose={onClose}>
      {data && <Whole shown={data} onClose={onClose} />}
    </Detail>
  )
}

function Whole({ shown, onClose }: { readonly shown: Shown; readonly onClose: () => void }) {
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
          <Facts>
            <Fact name="Id">
              <code>{one.id}</code>
            </Fact>
            <Fact name="Type">{one.type}</Fact>
            <Fact name="Score">{one.score === null ? 'none yet' : `${one.score} of 100`}</Fact>
            <Fact name="Subject">
              <Masked of={one.id}>{one.subjectName}</Masked>
            </Fact>
            <Fact name="E-mail">
              <Masked of={one.id}>{one.subjectEmail}</Masked>
            </Fact>
            <Fact name="Phone">
              <Masked of={one.id}>{one.subjectPhone}</Masked>
            </Fact>
            {one.clientId && (
              <Fact name="Client">
                <a href={href(['clients', one.clientId])}>{one.clientId}</a>
              </Fact>
            )}
            <Fact name="Created">
              <Time at={one.createdAt} />
            </Fact>
            <Fact name="Expires">
              <Time at={one.expiresAt} />
            </Fact>
            <Fact name="Subject’s page">
              <span class="actions">
                <a href={link} target="_blank" rel="noreferrer">
                  Open
                </a>
                <Copy text={() => new URL(link, location.href).href}>Copy link</Copy>
              </span>
            </Fact>
          </Facts>
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
function Actions({ shown: { verification, allowed } }: { readonly shown: Shown }) {
  const { id } = verification
  const act = async (action: string) => {
    const warning = warnings[action]
    const title = `${words(action)} this verification?`
    if (warning && !(await confirm({ title, text: warning, yes: words(action), danger: true }))) {
      return
    }
    await attempt(async () => {
      const path = `${control}/verifications/${id}/actions`
      await call(path, { method: 'POST', body: { actions: [action] } })
      return `Done: ${action}`
    })
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

function Steps({ shown: { verification, data } }: { readonly shown: Shown }) {
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
    <dl class="facts">
      {pairs.map(([name, value]) => (
        <Fact key={name} name={words(name)}>
          {value === dots ? <span class="masked">{dots}</span> : inWords(value)}
        </Fact>
      ))}
    </dl>
  )
}

interface GivenProps {
  readonly of: string
  readonly data: StepData
}

function inWords(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

interface TrailProps {
  readonly of: string
  readonly entries: readonly TrailEntry[]
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
export function History({ deliveries }: { readonly deliveries: readonly DeliverySummary[] }) {
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
