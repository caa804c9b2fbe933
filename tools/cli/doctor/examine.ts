// Sends the probes to a running receiver and judges the responses. To show what happens to the bytes
// on their way, it can sign other bytes than it sends.
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { defined } from '../../../src/foundation/defined.ts'
import { type Scheme, type Secret, type SignOptions, sign } from '../../../src/index.ts'
import { type Answer, type AnswerOutcome, deliver, outcomeOf } from '../deliver.ts'
import type { ExtraHeaders } from '../header-option.ts'
import type { Session } from '../session.ts'
import { frameworkOf, keepsHeadersApart } from './framework.ts'
import { type Frame, makeAllSpellings, makeProbes, type Probe } from './probes.ts'

/** A probe and its result. */
export interface Examined {
  readonly probe: Probe
  /** `not provable` where the runtime of the app hides what would decide it. */
  readonly result: 'holds' | 'fails' | 'not provable'
  readonly answer: Answer
  readonly outcome: AnswerOutcome
}

/** Where probes are sent, and how they are signed. */
export interface Target {
  readonly url: string
  readonly secret: readonly Secret[]
  readonly scheme: Scheme
  readonly frame: Frame
  /** Headers of every probe. */
  readonly extra: ExtraHeaders
  /** Seconds. */
  readonly timeout: number
  /** Send only what is refused before it is verified, so that no inbox keeps it. */
  readonly leaveNothing: boolean
  /** The probes that an inbox has kept. */
  readonly kept: Set<Probe>
}

/**
 * Sends every probe, one after the other. An app whose inbox keeps the first, which has all spellings
 * and is the same in every run, gets no other: it keeps one entry and no dead letter.
 * `others` are earlier responses that may show the framework.
 */
export async function examine(
  session: Session,
  target: Target,
  others: readonly Answer[],
): Promise<readonly Examined[]> {
  const run = randomUUID().slice(0, 8)
  const all = makeProbes({
    frame: target.frame,
    id: (probe) => `doctor-${run}-${probe}`,
    gzip: (body) => new Uint8Array(gzipSync(body)),
    timed: target.scheme.tolerance !== 'none',
  })
  const examined: Examined[] = []
  const send = async (probe: Probe) => {
    session.out.progress(`${examined.length}/${all.length} probes: ${probe.name}`)
    const answer = await sendProbe(session, target, { probe })
    const result = probe.good(answer.status) ? 'holds' : 'fails'
    examined.push({ probe, answer, outcome: outcomeOf(answer), result })
  }
  if (!target.leaveNothing) await send(makeAllSpellings(target.frame))
  const [first] = examined
  const hasInbox = /^(accepted|duplicate)$/.test(first?.outcome.outcome ?? '')
  if (!hasInbox) examined.pop()
  const isSent = (probe: Probe) => !probe.leaves || !(hasInbox || target.leaveNothing)
  for (const probe of all.filter(isSent)) await send(probe)
  const framework = frameworkOf([...examined.map(({ answer }) => answer), ...others])
  return keepsHeadersApart(framework) ? examined : examined.map(withoutJoinedHeaders)
}

/** A runtime that joins repeated headers hides them from every receiver on it. */
function withoutJoinedHeaders(one: Examined): Examined {
  const { probe, result, answer } = one
  const isTaken = answer.status >= 200 && answer.status < 300
  const isJoined = probe.signature === 'twice' && result === 'fails' && isTaken
  return isJoined ? { ...one, result: 'not provable' } : one
}

/** Sends a probe, signed over its own bytes or over others. */
export async function sendProbe(
  session: Session,
  target: Target,
  { probe, signedBody = probe.body }: { readonly probe: Probe; readonly signedBody?: Uint8Array },
): Promise<Answer> {
  session.signal.throwIfAborted()
  const { url, secret, scheme, timeout, extra } = target
  const { now } = session
  const hour = 3600 * 1000
  const at = probe.signature === 'stale' ? () => new Date(now().getTime() - hour) : now
  const { id, method = 'POST', body, headers = {}, pieces } = probe
  const values = { scheme, now: at, url, method, headers: extra.signed }
  const signed = await sign(signedBody, defined({ ...values, secret, id }))
  const signature = await tamper(signed, probe, values)
  const answer = await deliver(
    {
      url,
      method,
      body,
      headers: [
        ...Object.entries({ 'content-type': 'application/json', ...headers }),
        ['user-agent', 'idv-webhooks-doctor'],
        ...signature.filter(([name]) => !Object.hasOwn(extra.signed, name)),
        ...extra.all,
      ],
      ...(pieces !== undefined && { chunks: cut(body, pieces) }),
    },
    { timeout, signal: session.signal },
  )
  if (outcomeOf(answer).outcome === 'accepted') target.kept.add(probe)
  return answer
}

async function tamper(
  signed: Record<string, string>,
  probe: Probe,
  values: Omit<SignOptions, 'secret'> & { readonly scheme: Scheme },
) {
  const entries = Object.entries(signed)
  const header = values.scheme.header.toLowerCase()
  const own = signed[header] ?? ''
  const others = entries.filter(([name]) => name !== header)
  switch (probe.signature) {
    case 'none':
      return others
    case 'malformed':
      return [...others, [header, 'not-a-signature']] as [string, string][]
    case 'twice':
      return [...entries, [header, own]] as [string, string][]
    case 'wrong': {
      // A valid key in every decoding, hex and base64 included.
      const secret = 'bad0bad0'.repeat(8)
      return Object.entries(await sign(probe.body, { ...values, secret }))
    }
    default:
      return entries
  }
}

function cut(body: Uint8Array, pieces: number): readonly Uint8Array[] {
  const size = Math.ceil(body.length / pieces)
  return Array.from({ length: pieces }, (_, at) => body.subarray(at * size, (at + 1) * size))
}
