// One delivery: its attempts, newest first, each with the response and why it failed; the bytes that
// were signed and sent; copies as a command and as a test.
/** @jsxImportSource preact */
import { call } from '../call.ts'
import { type TestCase, toCurl, toTest } from '../export.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { fromBase64, textOf } from '../text.ts'
import { duration, Time } from '../time.tsx'
import { Button, Copy } from '../ui/actions.tsx'
import { Body, Headers, SideBySide } from '../ui/bytes.tsx'
import { Detail, type DetailProps } from '../ui/list-page.tsx'
import { Badge, Facts, HttpStatus, Id, Notice, Section, Status } from '../ui/parts.tsx'
import { statusOf } from './overview.tsx'
import { type AttemptProof, control, own, type SandboxDelivery } from './resources.ts'

interface DiagnosedDelivery {
  readonly delivery: SandboxDelivery
  /** One for each attempt. */
  readonly proofs: readonly AttemptProof[]
}

export function DeliveryDetail({ id, onClose }: DetailProps) {
  const path = `${own}/deliveries/${encodeURIComponent(id)}`
  const { data, problem, reload } = useLoad({
    key: path,
    ask: (signal) => call<DiagnosedDelivery>(path, { signal }),
    on: ['delivery', 'state'],
  })
  const { delivery, proofs = [] } = data ?? {}
  const resend = async () => {
    await call(`${control}/deliveries/${id}/resend`, { method: 'POST' })
    reload()
    return 'Sent again'
  }
  const actions = delivery && (
    <>
      <Status of={statusOf(delivery)} />
      <Button kind="main" work={resend}>
        Resend
      </Button>
      {delivery.attempts.length > 0 && (
        <>
          <Copy text={() => toCurl(sent(delivery))}>Copy as curl</Copy>
          <Copy text={() => testOf(delivery, proofs.at(-1))}>Copy as test</Copy>
        </>
      )}
    </>
  )
  return (
    <Detail
      label="Delivery"
      title={delivery?.event ?? 'Delivery'}
      {...{ problem, onClose, actions }}
    >
      {delivery && (
        <>
          <Attempts delivery={delivery} proofs={proofs} />
          <DeliveryFacts delivery={delivery} />
        </>
      )}
    </Detail>
  )
}

/** The last attempt as it was sent. */
function sent({ attempts, body: signed }: SandboxDelivery) {
  const { method = 'POST', url = '', headers = {}, body = signed } = attempts.at(-1)?.request ?? {}
  return { method, url, headers: Object.entries(headers), body }
}

async function testOf(
  { id, event }: SandboxDelivery,
  proof: AttemptProof | undefined,
): Promise<string> {
  const path = `${own}/deliveries/${encodeURIComponent(id)}/capture`
  const { capture } = await call<Pick<TestCase, 'capture'>>(path)
  const isRejected = proof?.ok === false
  return toTest({
    title: `${event} is ${isRejected ? 'rejected' : 'handled'} as it was delivered (${id})`,
    capture,
    outcome: isRejected ? 'rejected' : 'handled',
    ...(isRejected && proof?.code !== undefined && { code: proof.code }),
  })
}

function Attempts({ delivery, proofs }: DiagnosedDelivery) {
  const { attempts, nextAttemptAt } = delivery
  const numbered = attempts.map((attempt, at) => ({ attempt, number: at + 1, proof: proofs[at] }))
  return (
    <Section title={attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`}>
      <ol class="timeline">
        {nextAttemptAt && (
          <li>
            Next attempt <Time at={nextAttemptAt} />
          </li>
        )}
        {numbered.reverse().map((one) => (
          <AttemptView
            key={one.number}
            {...one}
            isLast={one.number === attempts.length}
            signed={delivery.body}
          />
        ))}
      </ol>
    </Section>
  )
}

interface AttemptProps {
  readonly attempt: SandboxDelivery['attempts'][number]
  readonly number: number
  readonly isLast: boolean
  readonly proof: AttemptProof | undefined
  /** Base64 of the bytes that were signed. */
  readonly signed: string
}

function AttemptView({ attempt, number, isLast, proof, signed }: AttemptProps) {
  const { request, response, error, fault, durationMs, at } = attempt
  const said = wordIn(response?.body)
  return (
    <li>
      <details class="attempt" open={isLast}>
        <summary>
          <strong>Attempt {number}</strong> <HttpStatus status={response?.status} />{' '}
          {said && <code>{said}</code>} {durationMs !== undefined && duration(durationMs)}{' '}
          {fault && (
            <Badge tone="warn" sign="!">
              {fault}
            </Badge>
          )}{' '}
          <Time at={at} />
        </summary>
        <div class="stack">
          <Cause attempt={attempt} proof={proof} />
          {error && <Notice tone="bad">{error}</Notice>}
          {response && (
            <Section title={`Response ${response.status}`}>
              <Body base64={response.body} label="Response body" />
              <Headers pairs={response.headers} />
            </Section>
          )}
          {request.body !== signed && (
            <Section title="Signed and received bytes">
              <SideBySide signed={signed} received={request.body} />
            </Section>
          )}
          <Section
            title={
              <>
                Request {request.method} <span class="break">{request.url}</span>
              </>
            }
          >
            <Body base64={request.body} label="Request body" />
            <Headers pairs={Object.entries(request.headers)} />
          </Section>
        </div>
      </details>
    </li>
  )
}

/** The code or the outcome that the receiver replied with. */
function wordIn(body: string | undefined): string | undefined {
  try {
    const { code, outcome } = JSON.parse(textOf(fromBase64(body ?? '')) ?? '')
    return [code, outcome].find((word) => typeof word === 'string')
  } catch {
    return undefined
  }
}

/** Says what is proved about a rejected attempt, and what to do. */
function Cause({ attempt, proof }: Pick<AttemptProps, 'attempt' | 'proof'>) {
  if (!proof) return null
  if (!proof.ok) {
    const { message = 'a receiver with the right secret rejects these bytes', fix } =
      proof.diagnosis ?? {}
    return (
      <Notice tone="warn">
        <strong>{proof.code}</strong> {sentence(message)} {fix && sentence(fix)}
      </Notice>
    )
  }
  if (attempt.response?.status !== 401) return null
  return (
    <Notice tone="warn">
      The signature is right for this subscription’s secret, and the bytes are unchanged. The
      receiver has another secret or scheme: copy the secret from{' '}
      <a href={href(['subscriptions'])}>Subscriptions</a>.
    </Notice>
  )
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

function DeliveryFacts({ delivery }: { readonly delivery: SandboxDelivery }) {
  const { id, eventId, event, canonicalEvent, resourceId, createdAt, fault } = delivery
  const page = canonicalEvent.startsWith('client') ? 'clients' : 'verifications'
  return (
    <Section title="Details">
      <Facts
        of={{
          Delivery: <Id of={id} />,
          Event: <Id of={eventId} />,
          Name: event !== canonicalEvent && `${event}, sent for ${canonicalEvent}`,
          About: <Id of={resourceId} href={href([page, resourceId])} />,
          Created: <Time at={createdAt} />,
          Fault: fault,
        }}
      />
    </Section>
  )
}
