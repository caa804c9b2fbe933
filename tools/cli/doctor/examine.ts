// Sends the probes to a running receiver and judges the responses. To show what happens to the bytes
// on their way, it can sign other bytes than it sends.
import { randomUUID } from 'node:crypto'
import { type Scheme, type Secret, type SignOptions, sign } from '../../../src/index.ts'
import { type AnswerOutcome, type DeliveryAnswer, deliver, outcomeOf } from '../deliver.ts'
import type { ExtraHeaders } from '../schemes.ts'
import type { Session } from '../session.ts'
import { frameworkOf, keepsHeadersApart } from './advice.ts'
import { isTaken, makeProbes, type Probe, type ProbeFrame } from './probes.ts'

/** A probe and its result. */
export interface Examined {
  readonly probe: Probe
  /** `not provable` if the runtime of the app hides what would decide it. */
  readonly result: 'holds' | 'fails' | 'not provable'
  readonly answer: DeliveryAnswer
  readonly outcome: AnswerOutcome
}

/** Where probes are sent, and how they are signed. */
export interface ProbeTarget {
  readonly url: string
  readonly secret: readonly Secret[]
  readonly scheme: Scheme
  readonly frame: ProbeFrame
  /** Headers of every probe. */
  readonly extra: ExtraHeaders
  /** Seconds. */
  readonly timeout: number
  /** Send only what is refused before it is verified, so that no inbox keeps it. */
  readonly leaveNothing: boolean
}

/** Sends every probe, one after the other; `other` is a response that may show the framework. */
export async function examine(
  session: Session,
  target: ProbeTarget,
  other: DeliveryAnswer,
): Promise<readonly Examined[]> {
  const { frame, scheme, leaveNothing } = target
  const run = randomUUID().slice(0, 8)
  const all = makeProbes({ frame, run, timed: scheme.tolerance !== 'none' })
  const wanted = all.filter(({ leaves }) => !leaves || !leaveNothing)
  const examined: Examined[] = []
  for (const probe of wanted) {
    session.out.progress(`${examined.length}/${wanted.length} probes: ${probe.name}`)
    const answer = await sendProbe(session, target, { probe })
    const result = probe.good(answer.status) ? 'holds' : 'fails'
    examined.push({ probe, answer, outcome: outcomeOf(answer), result })
  }
  const framework = frameworkOf([...examined.map(({ answer }) => answer), other])
  if (keepsHeadersApart(framework)) return examined
  // A runtime that joins repeated headers hides them from every receiver on it.
  return examined.map((one) => {
    const isJoined = one.probe.signature === 'twice' && isTaken(one.answer.status)
    return isJoined ? { ...one, result: 'not provable' } : one
  })
}

/** Sends a probe, signed over its own bytes or over others. */
export async function sendProbe(
  session: Session,
  target: ProbeTarget,
  { probe, signedBody = probe.body }: { readonly probe: Probe; readonly signedBody?: Uint8Array },
): Promise<DeliveryAnswer> {
  session.signal.throwIfAborted()
  const { url, secret, scheme, timeout, extra } = target
  const { now, signal } = session
  const hour = 3600 * 1000
  const at = probe.signature === 'stale' ? () => new Date(now().getTime() - hour) : now
  const { method = 'POST', body, headers, pieces } = probe
  const values = { scheme, now: at, url, method, headers: extra.signed }
  const signed = await sign(signedBody, { ...values, secret })
  const signature = await tamper(signed, probe, values)
  const size = Math.ceil(body.length / (pieces ?? 1))
  const chunks =
    pieces && Array.from({ length: pieces }, (_, at) => body.subarray(at * size, (at + 1) * size))
  const sent = [
    ...Object.entries({ 'content-type': 'application/json', ...headers }),
    ['user-agent', 'idv-webhooks-doctor'] as const,
    ...signature.filter(([name]) => !Object.hasOwn(extra.signed, name)),
    ...extra.all,
  ]
  const shipment = { url, method, body, headers: sent, ...(chunks && { chunks }) }
  return deliver(shipment, { timeout, signal })
}

async function tamper(
  signed: Record<string, string>,
  { signature, body }: Probe,
  values: Omit<SignOptions, 'secret'> & { readonly scheme: Scheme },
): Promise<readonly (readonly [name: string, value: string])[]> {
  const entries = Object.entries(signed)
  const header = values.scheme.header.toLowerCase()
  const others = entries.filter(([name]) => name !== header)
  if (signature === 'none') return others
  if (signature === 'malformed') return [...others, [header, 'not-a-signature']]
  if (signature === 'twice') return [...entries, [header, signed[header] ?? '']]
  if (signature !== 'wrong') return entries
  // A valid key in every decoding, hex and base64 included.
  return Object.entries(await sign(body, { ...values, secret: 'bad0bad0'.repeat(8) }))
}
