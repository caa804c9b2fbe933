// One verification: what it is, what may be done with it now, how it came there, what was told of it.
/** @jsxImportSource preact */

import { masked } from '../../mask.ts'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { HttpStatus, Status } from '../ui/badge.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Copy } from '../ui/copy.tsx'
import { DetailHead, Fact, Facts } from '../ui/detail.tsx'
import { Failed } from '../ui/empty.tsx'
import { words } from '../ui/form.tsx'
import { isRevealed, Masked, RevealButton } from '../ui/masked.tsx'
import { ScrollText } from '../ui/scroll-text.tsx'
import { attempt } from '../ui/toast.tsx'
import {
  type Assembled,
  control,
  type DeliverySummary,
  type Mail,
  type TrailEntry,
} from './resources.ts'

interface Shown {
  readonly verification: Assembled
  readonly completed: Readonly<Record<string, string>>
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
    <section class="detail" aria-label="Verification">
      {problem && <Failed problem={problem} />}
      {data && <Detail shown={data} onClose={onClose} />}
    </section>
  )
}

function Detail({ shown, onClose }: { readonly shown: Shown; readonly onClose: () => void }) {
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
        <Data of={one} />
        <Trail entries={one.steps} />
        <History deliveries={shown.deliveries} />
      </div>
    </>
  )
}

const warnings: Readonly<Record<string, string>> = {
  cancel: 'It ends for good, and verification.canceled is sent to every subscription.',
  reject: 'It ends for good, and verification.rejected is sent to every subscription.',
  expire: 'Its link ends now, and verification.expired is sent to every subscription.',
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
  if (allowed.length === 0) return <p class="hint">It has ended: no action is possible any more.</p>
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

function Steps({ shown: { verification, completed } }: { readonly shown: Shown }) {
  return (
    <section>
      <h3>Steps</h3>
      <ol class="steps">
        {verification.requirements.map((step) => {
          const at = completed[step]
          const current = verification.currentStep === step
          return (
            <li key={step}>
              <span aria-hidden="true">{at ? '✓' : current ? '◐' : '○'}</span>
              {words(step)}
              <span class="muted">
                {at ? <Time at={at} /> : current ? 'being completed' : 'not yet'}
              </span>
            </li>
          )
        })}
      </ol>
    </section>
  )
}

const dataFields = [
  'person',
  'documents',
  'biometric',
  'location',
  'contact',
  'business',
  'financial',
  'pep',
]

/** What the subject gave, step by step. */
function Data({ of }: { readonly of: Assembled }) {
  const given = dataFields.flatMap((name) => {
    const value = of[name]
    const empty = value === null || value === undefined || (Array.isArray(value) && !value.length)
    return empty ? [] : [[name, value] as const]
  })
  if (given.length === 0) return null
  const data = Object.fromEntries(given)
  const shown = isRevealed(of.id) ? data : masked(data)
  return (
    <section>
      <h3>Step data</h3>
      <ScrollText label="Step data">{JSON.stringify(shown, null, 2)}</ScrollText>
    </section>
  )
}

function Trail({ entries }: { readonly entries: readonly TrailEntry[] }) {
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
              {reason && <span class="muted"> {reason}</span>}
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
