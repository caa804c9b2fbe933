// The probes: deliveries as awkward as real ones, and how a correct receiver answers each. A
// receiver of this package knows their event and neither keeps nor handles it.
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Scheme, type Secret, type SignOptions, sign } from '../../../src/index.ts'
import type { Vendor } from '../../../src/vendors/index.ts'
import { type AnswerOutcome, type DeliveryAnswer, deliver, outcomeOf } from '../deliver.ts'
import { override } from '../override.ts'
import type { ExtraHeaders } from '../schemes.ts'
import type { Session } from '../session.ts'
import { frameworkOf, keepsHeadersApart } from './advice.ts'

export type Guarantee = 'takes' | 'exact bytes' | 'refuses' | 'bounded'

interface Probe {
  readonly name: string
  readonly guarantee: Guarantee
  readonly body: Uint8Array
  /** How the delivery is signed: over its bytes, not at all, or wrongly. */
  readonly signature: 'right' | 'none' | 'wrong' | 'malformed' | 'twice' | 'stale'
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sends the body in this number of pieces, without a Content-Length. */
  readonly pieces?: number
  /** True if the inbox of an app that does not know probes keeps it. */
  readonly leaves: boolean
  readonly good: (status: number) => boolean
}

const probeEvent = 'idv-webhooks.doctor'

/** The event of a probe with an id, in the shape that the receiver reads. */
type ProbeFrame = (id: string) => object

export const serviceFrame: ProbeFrame = (id) => ({ id, event: probeEvent, data: { id: 'doctor' } })

/** A vendor's shape: only what its preset reads, so that no rule takes a probe for a decision. */
export function vendorFrame({ reading }: Vendor): ProbeFrame {
  const [name, subject, event] = [reading.name[0], reading.subject[0], reading.id?.[0]]
  return (id) => {
    const sets = [`${subject}=doctor`, ...(event === undefined ? [] : [`${event}=${id}`])]
    return override({}, { sets: [...sets, `${name}=${probeEvent}`], remove: [] }) as object
  }
}

export const isTaken = (status: number) => status >= 200 && status < 300
export const isRefused = (status: number) => status >= 400 && status < 500
const isUnread = (status: number) => status === 400 || status === 202

const utf8 = (text: string) => new TextEncoder().encode(text)
const extended = (json: object, rest: string) => `${JSON.stringify(json).slice(0, -1)}${rest}}`
/** Writes JSON with white space that no serializer writes. */
const oddly = (json: string) => `{ "spaces" :\t[ 1 ,\r\n 2 ] ,${json.slice(1)}`
const filler = (kibibytes: number) => `,"filler":"${'x'.repeat(kibibytes * 1024)}"`
const charset = { 'content-type': 'application/json; charset=utf-8' }

function probing(guarantee: Guarantee, good: Probe['good']) {
  return (name: string, body: string | Uint8Array, more: Partial<Probe> = {}): Probe => {
    const leaves = (more.signature ?? 'right') === 'right'
    const bytes = typeof body === 'string' ? utf8(body) : body
    return { name, guarantee, good, leaves, signature: 'right', body: bytes, ...more }
  }
}

const takes = probing('takes', isTaken)
const exact = probing('exact bytes', isTaken)
const refuses = probing('refuses', isRefused)
/** Closing the connection is a refusal as well. */
const bounds = probing('bounded', (status) => status === 413 || status === 0)

interface ProbeOptions {
  readonly frame: ProbeFrame
  readonly run: string
  readonly timed: boolean
}

function makeProbes({ frame, run, timed }: ProbeOptions): readonly Probe[] {
  let made = 0
  const id = () => `doctor-${run}-${++made}`
  const json = (rest = '') => extended(frame(id()), rest)
  // A receiver recognizes a probe that it cannot parse by this start.
  const start = `{"event":"${probeEvent}","id":"${id()}"`
  const bytes = [...utf8(`${start},"note":"`), 0xff, 0xfe, ...utf8('"}')]
  const gzip = { headers: { 'content-encoding': 'gzip' }, leaves: false }
  return [
    takes('a genuine delivery', json()),
    takes('a charset in the content type', json(), { headers: charset }),
    takes('a body without a length (chunked)', json(), { pieces: 3 }),
    takes('a body of 256 KiB', json(filler(256))),
    exact('odd white space', oddly(json())),
    exact('an escaped letter (\\u00e9)', json(',"note":"caf\\u00e9"')),
    exact('a letter beyond ASCII (é)', json(',"note":"café"')),
    exact('a repeated key', json(',"note":1,"note":2')),
    exact('numbers as they are spelled (1.0, 1e3)', json(',"n":1.0,"m":1e3')),
    exact('a number of 20 digits', json(',"n":12345678901234567890')),
    exact('an escaped slash', json(',"note":"a\\/b"')),
    exact('keys like integers', json(',"10":1,"9":2')),
    exact('replacement patterns ($&)', json(',"note":"$& $1 $$ $`"')),
    exact('a line break at the end', `${json()}\n`),
    refuses('no signature', json(), { signature: 'none' }),
    refuses('a wrong signature', json(), { signature: 'wrong' }),
    refuses('a malformed signature', json(), { signature: 'malformed' }),
    refuses('two signature headers', json(), { signature: 'twice' }),
    refuses('a compressed body', new Uint8Array(gzipSync(utf8(json()))), gzip),
    refuses('a body that is not UTF-8', Uint8Array.from(bytes), { good: isUnread }),
    refuses('a body that is not JSON', `${start},"data":`, { good: isUnread }),
    refuses('another method (GET)', '', { signature: 'none', method: 'GET' }),
    bounds('a body of 12 MiB', json(filler(12 * 1024)), { leaves: false }),
    ...(timed ? [refuses('a signature of an hour ago', json(), { signature: 'stale' })] : []),
  ]
}

export interface Examined {
  readonly probe: Probe
  /** `not provable` if the runtime of the app hides what would decide it. */
  readonly result: 'holds' | 'fails' | 'not provable'
  readonly answer: DeliveryAnswer
  readonly outcome: AnswerOutcome
}

export interface ProbeTarget {
  readonly url: string
  readonly secret: readonly Secret[]
  readonly scheme: Scheme
  readonly frame: ProbeFrame
  readonly extra: ExtraHeaders
  /** Seconds. */
  readonly timeout: number
  /** Send only probes that are rejected before they are verified, so that no inbox keeps one. */
  readonly leaveNothing: boolean
}

export async function examine(session: Session, target: ProbeTarget, other: DeliveryAnswer) {
  const { frame, scheme, leaveNothing } = target
  const run = randomUUID().slice(0, 8)
  const all = makeProbes({ frame, run, timed: scheme.tolerance !== 'none' })
  const [genuine] = all
  // If the app does not respond, every probe would fail in the same way.
  if (other.error !== undefined && genuine) {
    const lost: Examined = { probe: genuine, answer: other, outcome: {}, result: 'fails' }
    return [lost]
  }
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
  return examined.map((one): Examined => {
    const isJoined = one.probe.signature === 'twice' && isTaken(one.answer.status)
    return isJoined ? { ...one, result: 'not provable' } : one
  })
}

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
