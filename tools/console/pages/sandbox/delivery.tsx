// One delivery: what was signed, each attempt with its exact bytes and answer, and why a signature
// did not match. It can be sent again, and copied as a command or as a test.
/** @jsxImportSource preact */
import { call } from '../call.ts'
import { type TestCase, toCurl, toTest } from '../export.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Badge, HttpStatus, Status } from '../ui/badge.tsx'
import { Body, Headers, SideBySide, Took } from '../ui/bytes.tsx'
import { Detail, DetailHead, Facts } from '../ui/detail.tsx'
import { isRevealed, RevealButton, recordReveal } from '../ui/masked.tsx'
import { Copy, attempt as tried } from '../ui/toast.tsx'
import { type AttemptRow, control, type DeliveryRecord } from './resources.ts'

/** The proof that an attempt gives to a receiver with the right secret. */
interface ShownProof {
  readonly ok: boolean
  readonly code?: string
  readonly diagnosis?: { readonly cause: string; readonly message: string; readonly fix: string }
}

interface DeliveryDetailProps {
  readonly id: string
  readonly onClose: () => void
}

export function DeliveryDetail({ id, onClose }: DeliveryDetailProps) {
  const { data, problem, reload } = useLoad({
    key: `delivery ${id}`,
    ask: (signal) => ask(id, signal),
    on: ['delivery', 'state'],
  })
  return (
    <Detail label="Delivery" problem={problem} onClose={onClose}>
      {data && <Whole shown={data} onClose={onClose} onDone={reload} />}
    </Detail>
  )
}

interface WholeDeliveryProps {
  readonly shown: DiagnosedDelivery
  readonly onClose: () => void
  readonly onDone: () => void
}

function Whole({ shown: { delivery, proofs }, onClose, onDone }: WholeDeliveryProps) {
  const { id } = delivery
  return (
    <>
      <DetailHead title={delivery.event} onClose={onClose}>
        <Status of={delivery.status} />
        <Resend id={id} onDone={onDone} />
        <RevealButton of={id}>Reveal identity data</RevealButton>
        <Copies delivery={delivery} proof={proofs.at(-1)} />
      </DetailHead>
      <div class="stack">
        <DeliveryFacts delivery={delivery} />
        <section>
          <h3>{delivery.attempts.length === 0 ? 'No attempt yet' : 'Attempts, latest first'}</h3>
          {delivery.attempts
            .map((one, at) => (
              <AttemptView
                key={one.at + String(at)}
                attempt={one}
                number={at + 1}
                open={at === delivery.attempts.length - 1}
                proof={proofs[at]}
                delivery={delivery}
              />
            ))
            .reverse()}
        </section>
      </div>
    </>
  )
}

interface DiagnosedDelivery {
  readonly delivery: DeliveryRecord
  readonly proofs: readonly ShownProof[]
}

async function ask(id: string, signal: AbortSignal): Promise<DiagnosedDelivery> {
  const name = encodeURIComponent(id)
  const [delivery, { data }] = await Promise.all([
    call<DeliveryRecord>(`${control}/deliveries/${name}`, { signal }),
    call<{ readonly data: readonly ShownProof[] }>(`/_console/deliveries/${name}/diagnosis`, {
      signal,
    }),
  ])
  return { delivery, proofs: data }
}

function Resend({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const resend = () =>
    tried(async () => {
      await call(`${control}/deliveries/${id}/resend`, { method: 'POST' })
      onDone()
      return 'Sent again'
    })
  return (
    <button type="button" class="main" onClick={resend}>
      Resend
    </button>
  )
}

/** The last attempt as it was sent, or the delivery as it will be. */
function sent(delivery: DeliveryRecord) {
  const last = delivery.attempts.at(-1)
  const { method = 'POST', url = '', headers = {}, body = delivery.body } = last?.request ?? {}
  return { method, url, headers: Object.entries(headers), body }
}

function FaultBadge({ of }: { readonly of: string }) {
  return (
    <Badge tone="warn" sign="!">
      {of}
    </Badge>
  )
}

interface CopiesProps {
  readonly delivery: DeliveryRecord
  readonly proof: ShownProof | undefined
}

function Copies({ delivery, proof }: CopiesProps) {
  const { id, event, attempts } = delivery
  if (attempts.length === 0) return null
  // Who copies it has the exact bytes: that is a reveal as well.
  const curl = async () => {
    await recordReveal(id)
    return toCurl(sent(delivery))
  }
  const test = async () => {
    await recordReveal(id)
    const path = `/_console/deliveries/${encodeURIComponent(id)}/capture`
    const { capture } = await call<Pick<TestCase, 'capture'>>(path)
    const refused = proof?.ok === false
    return toTest({
      title: `${event} is ${refused ? 'refused' : 'handled'} as it was delivered (${id})`,
      capture,
      outcome: refused ? 'rejected' : 'handled',
      ...(refused && proof?.code !== undefined && { code: proof.code }),
    })
  }
  return (
    <>
      <Copy text={curl}>Copy as curl</Copy>
      <Copy text={test}>Copy as test</Copy>
    </>
  )
}

function DeliveryFacts({ delivery: one }: { readonly delivery: DeliveryRecord }) {
  const page = one.canonicalEvent.startsWith('client') ? 'clients' : 'verifications'
  return (
    <section>
      <h3>Facts</h3>
      <Facts
        of={{
          Delivery: <code>{one.id}</code>,
          Event: <code>{one.eventId}</code>,
          Name: one.event !== one.canonicalEvent && (
            <>
              <code>{one.event}</code>, sent for <code>{one.canonicalEvent}</code>
            </>
          ),
          About: <a href={href([page, one.resourceId])}>{one.resourceId}</a>,
          Created: <Time at={one.createdAt} />,
          'Next attempt': one.nextAttemptAt && <Time at={one.nextAttemptAt} />,
          Fault: one.fault && <FaultBadge of={one.fault} />,
        }}
      />
    </section>
  )
}

interface AttemptProps {
  readonly attempt: AttemptRow
  readonly number: number
  readonly open: boolean
  readonly proof: ShownProof | undefined
  readonly delivery: DeliveryRecord
}

function AttemptView({ attempt, number, open, proof, delivery }: AttemptProps) {
  const { request, response, error, fault } = attempt
  const { id } = delivery
  return (
    <details class="attempt" open={open}>
      <summary>
        <strong>Attempt {number}</strong>
        <HttpStatus status={response?.status} />
        <Took ms={attempt.durationMs} />
        {fault && <FaultBadge of={fault} />}
        <span class="muted">
          <Time at={attempt.at} />
        </span>
      </summary>
      <div class="stack">
        {error && (
          <p class="notice" data-tone="bad">
            {error}
          </p>
        )}
        {proof && !proof.ok && <Mismatch proof={proof} attempt={attempt} delivery={delivery} />}
        <section>
          <h3>
            Sent: {request.method} <span class="break">{request.url}</span>
          </h3>
          <Headers pairs={Object.entries(request.headers)} />
        </section>
        <Body base64={request.body} of={id} label="Body sent" />
        {response && (
          <section>
            <h3>Answer: {response.status}</h3>
            <Headers pairs={response.headers} />
          </section>
        )}
        {response && <Body base64={response.body} of={id} label="Body of the answer" />}
      </div>
    </details>
  )
}

/** Why no receiver can take it: what was proved, and the two bodies beside each other. */
function Mismatch({ proof, attempt, delivery }: Omit<AttemptProps, 'number' | 'open'>) {
  const changed = attempt.request.body !== delivery.body
  return (
    <section class="stack">
      <div class="notice" data-tone="warn">
        <strong>{proof?.code}</strong>{' '}
        {proof?.diagnosis
          ? `${sentence(proof.diagnosis.message)} ${sentence(proof.diagnosis.fix)}`
          : 'A receiver with the right secret refuses these bytes.'}
      </div>
      {changed &&
        (isRevealed(delivery.id) ? (
          <SideBySide signed={delivery.body} received={attempt.request.body} />
        ) : (
          <p class="hint">
            The bytes that were sent are not the bytes that were signed. Reveal identity data to see
            them side by side.
          </p>
        ))}
    </section>
  )
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
