// One request of a delivery: the fixed bytes and their signature, tampered with if a fault says so,
// and what came back.
import type { Fetch } from '../../client/attempt.ts'
import { steadyClock } from '../../clock.ts'
import { parseJson } from '../../json.ts'
import { fromBase64, toBase64 } from '../../signature/encoding.ts'
import { sign } from '../../signature/signature.ts'
import { signedDelivery } from '../../testing/signed-delivery.ts'
import type { AttemptFault } from '../faults.ts'
import { profile } from '../profile.ts'
import type { Attempt } from '../schemas/deliveries.ts'
import { asDelivery } from './from-within.ts'

export interface AttemptParts {
  readonly url: string
  readonly body: string
  readonly signature: Readonly<Record<string, string>>
  readonly fault: AttemptFault | undefined
  readonly send: Fetch
  readonly timeoutMs: number
  readonly now: () => Date
  readonly closing: AbortSignal
}

/** More of an answer's body than this is neither kept nor read. */
const keptBody = 16_384

/** The headers of a signature over a delivery's bytes. */
export function signBody(body: string, secrets: readonly string[], now: () => Date) {
  return sign(bytesOf(body), { secret: secrets, scheme: profile.scheme, now })
}

/** Makes one attempt; it never rejects. */
export async function attempt(parts: AttemptParts): Promise<Attempt> {
  const { url, fault, now } = parts
  const at = now()
  const { bytes, headers } = await tampered(parts)
  // What is sent as it was made is kept once.
  const body = fault ? toBase64(bytes) : parts.body
  const request = { method: 'POST', url, headers, body } as const
  const told = { at: at.toISOString(), request, ...(fault && { fault }) }
  // The sandbox's clock may stand still; how long an answer takes is measured all the same.
  const begun = steadyClock().getTime()
  const durationMs = () => Math.max(0, steadyClock().getTime() - begun)
  try {
    const response = await post(parts, bytes, headers)
    return { ...told, durationMs: durationMs(), response }
  } catch (error) {
    return { ...told, durationMs: durationMs(), error: reason(error) }
  }
}

async function post(
  { url, fault, send, timeoutMs, closing }: AttemptParts,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>>,
) {
  const streamed = fault === 'slow-drip' || fault === 'connection-reset'
  return withinTime({ timeoutMs, closing }, async (signal) => {
    const request = new Request(url, {
      method: 'POST',
      headers,
      redirect: 'manual',
      signal,
      // A stream needs half duplex; Request's own types do not know it yet.
      ...(streamed ? { body: dripping(bytes, fault), duplex: 'half' } : { body: bytes }),
    } as RequestInit)
    return asDelivery(async () => toAnswer(await send(request)))
  })
}

async function toAnswer(response: Response): Promise<NonNullable<Attempt['response']>> {
  const { bytes, truncated } = await beginning(response)
  return {
    status: response.status,
    headers: [...response.headers],
    body: toBase64(bytes),
    ...(truncated && { truncated }),
  }
}

/** Reads no further than what is kept: a receiver may answer without end. */
async function beginning({ body }: Response) {
  const kept = new Uint8Array(keptBody)
  let length = 0
  const reader = body?.getReader()
  for (;;) {
    const next = await reader?.read()
    if (!next || next.done) return { bytes: kept.subarray(0, length), truncated: false as const }
    const { value } = next
    kept.set(value.subarray(0, keptBody - length), length)
    length += value.length
    if (length <= keptBody) continue
    reader?.cancel().catch(() => {})
    return { bytes: kept, truncated: true as const }
  }
}

/**
 * Ends at the time limit or when the sandbox closes, whatever the work does with its signal. A timer
 * of its own, for signals that are only combined are lost when memory is cleared.
 */
async function withinTime<Result>(
  { timeoutMs, closing }: Pick<AttemptParts, 'timeoutMs' | 'closing'>,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const end = (why: Error) => {
    controller.abort(why)
    reject(why)
  }
  const close = () => end(new Error('the state of this delivery is gone'))
  const late = () => end(new Error(`no answer in time: ${timeoutMs / 1000} s`))
  const timer = setTimeout(late, Math.min(timeoutMs, 2 ** 31 - 1))
  closing.addEventListener('abort', close, { once: true })
  if (closing.aborted) close()
  try {
    return await Promise.race([work(controller.signal), ended])
  } finally {
    clearTimeout(timer)
    closing.removeEventListener('abort', close)
  }
}

/** The bytes and headers as this attempt sends them. */
async function tampered({ body, signature, fault, now }: AttemptParts) {
  const bytes = bytesOf(body)
  const headers = { 'content-type': 'application/json', ...signature }
  const header = profile.scheme.header.toLowerCase()
  switch (fault) {
    case 'missing-signature': {
      const { [header]: _, ...rest } = headers as Record<string, string>
      return { bytes, headers: rest }
    }
    case 'wrong-signature': {
      const wrong = await signedDelivery(bytes, {
        scheme: profile.scheme,
        now,
        tamper: 'wrong-secret',
      })
      return { bytes, headers: { ...headers, ...wrong.headers } }
    }
    case 'tampered':
    case 'truncated': {
      const changed = await signedDelivery(bytes, { scheme: profile.scheme, now, tamper: fault })
      return { bytes: changed.body, headers }
    }
    case 're-serialised': {
      // The smallest change that a parser on the way makes: white space that was not there.
      const json = parseJson(new TextDecoder().decode(bytes))
      const text = json && JSON.stringify(json.value, null, 1)
      return { bytes: text === undefined ? bytes : new TextEncoder().encode(text), headers }
    }
    default:
      return { bytes, headers }
  }
}

/** A body that comes in small pieces, or breaks off in the middle. */
function dripping(bytes: Uint8Array<ArrayBuffer>, fault: AttemptFault): ReadableStream<Uint8Array> {
  const piece = Math.max(1, Math.ceil(bytes.length / 8))
  let at = 0
  return new ReadableStream({
    async pull(controller) {
      if (fault === 'connection-reset' && at >= bytes.length / 2) {
        return controller.error(new Error('the connection was reset, as a fault asked for'))
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
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`
}
