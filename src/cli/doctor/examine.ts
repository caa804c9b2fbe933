// Sends the probes to a running receiver and judges the answers; signs other bytes than it sends
// where that shows what happens to them on their way.
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Scheme, type Secret, sign } from '../../index.ts'
import { type Answer, type AnswerOutcome, deliver, outcomeOf } from '../deliver.ts'
import type { Session } from '../session.ts'
import { makeProbes, type Probe } from './probes.ts'

/** A probe and what came of it. */
export interface Examined {
  readonly probe: Probe
  readonly holds: boolean
  readonly answer: Answer
  readonly told: AnswerOutcome
}

/** Where probes go and how they are signed. */
export interface Patient {
  readonly url: string
  readonly secret: readonly Secret[]
  readonly scheme: Scheme
  /** Seconds. */
  readonly timeout: number
  /** Sends only what is refused unread, so that no inbox keeps it. */
  readonly leaveNothing: boolean
  /** The probes that an inbox kept, as they are found out. */
  readonly kept: Set<Probe>
}

/** Sends every probe, one after the other. */
export async function examine(session: Session, patient: Patient): Promise<readonly Examined[]> {
  const run = randomUUID().slice(0, 8)
  const all = makeProbes({
    id: (probe) => `doctor-${run}-${probe}`,
    gzip: (body) => new Uint8Array(gzipSync(body)),
    timed: patient.scheme.tolerance !== 'none',
  })
  const probes = patient.leaveNothing ? all.filter(({ leaves }) => !leaves) : all
  const examined: Examined[] = []
  for (const probe of probes) {
    session.out.progress(`${examined.length}/${probes.length} probes: ${probe.name}`)
    const answer = await sendProbe(session, patient, { probe })
    const told = outcomeOf(answer)
    examined.push({ probe, answer, told, holds: probe.good(answer.status) })
  }
  return examined
}

/** Sends a probe, signed over its own bytes or over others. */
export async function sendProbe(
  session: Session,
  patient: Patient,
  { probe, signedBody = probe.body }: { readonly probe: Probe; readonly signedBody?: Uint8Array },
): Promise<Answer> {
  session.signal.throwIfAborted()
  const { url, secret, scheme, timeout } = patient
  const { now } = session
  const hour = 3600 * 1000
  const at = probe.signature === 'stale' ? () => new Date(now().getTime() - hour) : now
  const signed = await sign(signedBody, { secret, scheme, now: at, url })
  const spoiled = await spoil(signed, { probe, scheme, at, url })
  const { method = 'POST', body, headers = {}, pieces } = probe
  const answer = await deliver(
    {
      url,
      method,
      body,
      headers: [
        ...Object.entries({ 'content-type': 'application/json', ...headers }),
        ['user-agent', 'idv-webhooks-doctor'],
        ...spoiled,
      ],
      ...(pieces !== undefined && { chunks: cut(body, pieces) }),
    },
    { timeout, signal: session.signal },
  )
  if (outcomeOf(answer).outcome === 'accepted') patient.kept.add(probe)
  return answer
}

interface Spoiling {
  readonly probe: Probe
  readonly scheme: Scheme
  readonly at: () => Date
  readonly url: string
}

async function spoil(signed: Record<string, string>, { probe, scheme, at, url }: Spoiling) {
  const entries = Object.entries(signed)
  const header = scheme.header.toLowerCase()
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
      // Fits every key decoding, as hex and as base64.
      const secret = 'bad0bad0'.repeat(8)
      return Object.entries(await sign(probe.body, { secret, scheme, now: at, url }))
    }
    default:
      return entries
  }
}

function cut(body: Uint8Array, pieces: number): readonly Uint8Array[] {
  const size = Math.ceil(body.length / pieces)
  return Array.from({ length: pieces }, (_, at) => body.subarray(at * size, (at + 1) * size))
}
