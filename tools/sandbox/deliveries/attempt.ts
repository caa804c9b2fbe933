// One request of a delivery: the fixed bytes and their signature, changed if a fault says so, and the
// answer.
import type { Fetch } from '../../../src/client/attempt.ts'
import { reasonOf } from '../../../src/errors.ts'
import { orAborted } from '../../../src/foundation/abortable.ts'
import { longestTimer } from '../../../src/foundation/check.ts'
import { steadyClock } from '../../../src/foundation/clock.ts'
import { defined } from '../../../src/foundation/defined.ts'
import { parseJson } from '../../../src/foundation/json.ts'
import type { Scheme } from '../../../src/protocol/scheme.ts'
import { fromBase64, toBase64 } from '../../../src/signature/encoding.ts'
import { type Secret, testSecret } from '../../../src/signature/secrets.ts'
import { statesTime } from '../../../src/signature/time.ts'
import { signBody, signedDelivery } from '../../../src/testing/signed-delivery.ts'
import type { Attempt, DeliveryRow } from '../schemas/deliveries.ts'
import type { AttemptFault } from '../schemas/faults.ts'
import { signingSecret } from '../vendor.ts'

type AttemptFaultKind = AttemptFault['kind']

export interface AttemptOptions {
  readonly url: string
  readonly body: string
  readonly signature: Readonly<Record<string, string>>
  readonly scheme: Scheme
  readonly fault: AttemptFaultKind | undefined
  readonly send: Fetch
  readonly timeoutMs: number
  readonly now: () => Date
  /** Ends the attempt when its state is gone. */
  readonly ended: AbortSignal
}

/** No more of an answer's body is read and kept. */
const keptBody = 16_384

/** Signs again if the scheme states a time; a recorded delivery keeps the time of its record. */
export async function signed(
  row: Pick<DeliveryRow, 'body' | 'eventId' | 'signature' | 'recorded' | 'createdAt'>,
  secrets: readonly Secret[],
  { scheme, now }: { readonly scheme: Scheme; readonly now: () => Date },
): Promise<Pick<AttemptOptions, 'body' | 'signature'>> {
  const { body, eventId, signature, recorded, createdAt } = row
  if (signature && !statesTime(scheme) && !scheme.bodyJws) return { body, signature }
  const signedAt = recorded ? () => new Date(createdAt) : now
  const values = { secret: secrets, scheme, now: signedAt, id: eventId }
  const made = await signBody(bytesOf(body), values)
  return { body: toBase64(made.body), signature: made.headers }
}

/** Makes one attempt; it never rejects. */
export async function attempt(options: AttemptOptions): Promise<Attempt> {
  const { url, fault, now } = options
  const at = now().toISOString()
  const { bytes, headers } = await outgoing(options)
  // A body sent unchanged is stored once.
  const body = fault ? toBase64(bytes) : options.body
  const request = { method: 'POST', url, headers, body } as const
  // The sandbox's clock may stand still; how long an answer takes is measured all the same.
  const begun = steadyClock().getTime()
  const result = await post(options, bytes, headers).then(
    (response) => ({ response }),
    (error: unknown) => ({ error: reason(error) }),
  )
  const durationMs = Math.max(0, steadyClock().getTime() - begun)
  return defined({ at, durationMs, request, fault, ...result })
}

async function post(
  options: AttemptOptions,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>>,
) {
  const { url, fault, send } = options
  const streamed = fault === 'slow-drip' || fault === 'connection-reset'
  return withinTime(options, async (signal) => {
    const request = new Request(url, {
      method: 'POST',
      headers,
      redirect: 'manual',
      signal,
      // A stream needs half duplex; Request's own types do not know it yet.
      ...(streamed ? { body: dripping(bytes, fault), duplex: 'half' } : { body: bytes }),
    } as RequestInit)
    return toAnswer(await send(request))
  })
}

/** The answer, read no further than what is kept: a receiver may answer without end. */
async function toAnswer({
  status,
  headers,
  body,
}: Response): Promise<NonNullable<Attempt['response']>> {
  const kept = new Uint8Array(keptBody)
  let length = 0
  const reader = body?.getReader()
  while (length <= keptBody) {
    const next = await reader?.read()
    if (!next || next.done) break
    kept.set(next.value.subarray(0, keptBody - length), length)
    length += next.value.length
  }
  const truncated = length > keptBody || undefined
  if (truncated) reader?.cancel().catch(() => {})
  return defined({
    status,
    headers: [...headers],
    body: toBase64(kept.subarray(0, length)),
    truncated,
  })
}

/** Ends at the time limit or with its state, whatever the work does with its signal. */
async function withinTime<Result>(
  { timeoutMs, ended }: AttemptOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const late = new AbortController()
  const end = () => late.abort(new Error(`no answer within ${timeoutMs} ms`))
  const timer = setTimeout(end, Math.min(timeoutMs, longestTimer))
  const signal = AbortSignal.any([ended, late.signal])
  try {
    return await orAborted(work(signal), signal)
  } finally {
    clearTimeout(timer)
  }
}

/** The bytes and headers as this attempt sends them. */
async function outgoing({ body, signature, scheme, fault, now }: AttemptOptions) {
  const bytes = bytesOf(body)
  const headers = { 'content-type': 'application/json', ...signature }
  if (fault === undefined || fault === 'slow-drip' || fault === 'connection-reset') {
    return { bytes, headers }
  }
  if (fault === 'reserialized') return { bytes: respaced(bytes), headers }
  const isWrong = fault === 'wrong-secret'
  const changed = await signedDelivery(bytes, {
    scheme,
    now,
    secret: signingSecret(isWrong ? 'f00d'.repeat(16) : testSecret, scheme),
    tamper: isWrong ? undefined : fault,
  })
  // Either the body is wrong under the genuine signature, or the signature of the genuine body.
  return fault === 'tampered' || fault === 'truncated' || scheme.bodyJws
    ? { bytes: changed.body, headers }
    : { bytes, headers: changed.headers }
}

/** The smallest change that a parser on the way makes: white space that was not there. */
function respaced(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const json = parseJson(new TextDecoder().decode(bytes), Number.POSITIVE_INFINITY)
  return json ? new TextEncoder().encode(JSON.stringify(json.value, null, 1)) : bytes
}

/** A body that comes in small pieces, or breaks off in the middle. */
function dripping(
  bytes: Uint8Array<ArrayBuffer>,
  fault: AttemptFaultKind,
): ReadableStream<Uint8Array> {
  const piece = Math.max(1, Math.ceil(bytes.length / 8))
  let at = 0
  return new ReadableStream({
    async pull(controller) {
      if (fault === 'connection-reset' && at >= bytes.length / 2) {
        return controller.error(new Error('the connection was reset by an injected fault'))
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
      controller.enqueue(bytes.slice(at, at + piece))
      at += piece
      if (at >= bytes.length) controller.close()
    },
  })
}

function bytesOf(body: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(fromBase64(body) ?? [])
}

/** An error's own words and those of its cause: fetch says only that it failed. */
function reason(error: unknown): string {
  const { cause } = Object(error)
  return `${reasonOf(error)}${cause instanceof Error ? `: ${cause.message}` : ''}`
}
