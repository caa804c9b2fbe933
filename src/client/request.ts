// Turns an endpoint and its input into a response: check, wait for a turn, send, read, and retry if
// that is harmless. Every fault of the peer becomes an error of the family.
import { sleep } from '../foundation/abortable.ts'
import { type Clock, readRetryAfter } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { deepestAnswer, parseJson } from '../foundation/json.ts'
import {
  type EndpointName,
  isApiError,
  MalformedResponseError,
  NetworkError,
  OutcomeUnknownError,
  type RequestDetails,
  TimeoutError,
} from './api-error.ts'
import { type AttemptEnd, attempt, type Fetch } from './attempt.ts'
import { type Call, prepared, type Target } from './call.ts'
import { endpoints } from './contract.ts'
import type { Limiter } from './limiter.ts'
import { faultCode, provesUnsent, showable } from './network-fault.ts'
import { type Answer, readAnswer, refusedAnswer } from './read-response.ts'
import { delayBefore, type Failing, type RetryPolicy } from './retry.ts'

/** One attempt of one call; safe to log. */
export interface RequestObserved extends RequestDetails {
  readonly type: 'request'
  readonly at: Date
  readonly ok: boolean
  /** The duration of the attempt in milliseconds. */
  readonly ms: number
  readonly status?: number
  readonly code?: string
  /** Milliseconds until the retry. */
  readonly retryIn?: number
  /** Response fields that are not as documented; the response was used anyway. */
  readonly strange?: readonly string[]
}

/** The `observe` option of a client. */
export type ObserveRequests = (seen: RequestObserved) => void

/** Shared by all calls of a client. */
export interface Sender extends Target {
  readonly fetch: Fetch
  readonly timeout: number
  readonly retry: RetryPolicy
  readonly limiter: Limiter | undefined
  readonly now: Clock
  readonly observe: ObserveRequests
  /** Removes the API key from a text. */
  readonly redact: (text: string) => string
}

/** A failure that may end the call, and whether the request may be sent again. */
interface Failure extends Failing {
  readonly ok: false
  /** An ApiError, or the reason of the caller's signal. */
  readonly error: unknown
  /** True if the service may have done what the call asked for. */
  readonly unclear: boolean
}

/**
 * Calls an endpoint, and retries if a repeat is harmless.
 *
 * @throws ApiError: ValidationError for input that the service would refuse, before anything is
 * sent; OutcomeUnknownError if the service may have created what was asked; the signal's reason
 */
export async function request<Name extends EndpointName>(
  sender: Sender,
  call: Call<Name>,
): Promise<Answer<Name>> {
  const { endpoint } = call
  const { method } = endpoints[endpoint]
  const { path, url, init } = prepared(sender, call)
  const { signal, timeout = sender.timeout, background } = call.options ?? {}
  for (let attempts = 1; ; attempts++) {
    const info: RequestDetails = { endpoint, method, path, attempts }
    const leave = await sender.limiter?.acquire(signal, timeout, background)
    const began = sender.now()
    const attempted = await attempt(sender.fetch, { url, init, timeout, signal }).finally(leave)
    if (attempted.kind === 'aborted' && !attempted.sent) throw attempted.reason
    const result = understand(sender, attempted, info)
    const delay = result.ok
      ? undefined
      : delayBefore(result, { method, attempts, dice: Math.random() }, sender.retry)
    const at = sender.now()
    const seen = { at, ...info, ms: at.getTime() - began.getTime(), ...observed(attempted, result) }
    const retryIn = delay === undefined ? {} : { retryIn: Math.round(delay) }
    sender.observe({ type: 'request', ...seen, ...retryIn })
    // The cast is safe: the endpoint's own schema has read the response.
    if (result.ok) return result.value as Answer<Name>
    if (delay === undefined) throw ending(result, info)
    await sleep(delay, signal)
  }
}

/** Describes the end of an attempt to an observer. */
function observed(attempted: AttemptEnd, result: AttemptOutcome) {
  const status = attempted.kind === 'answered' ? attempted.status : undefined
  if (!result.ok) {
    const code = isApiError(result.error) ? result.error.code : 'ABORTED'
    return defined({ ok: false, status, code })
  }
  return defined({ ok: true, status, strange: result.strange[0] ? result.strange : undefined })
}

/** A create call that the service may have carried out ends in an unknown outcome. */
function ending({ error, unclear }: Failure, requestInfo: RequestDetails): unknown {
  if (!unclear || requestInfo.method !== 'POST') return error
  const status = isApiError(error) ? error.status : undefined
  return new OutcomeUnknownError({ status, requestInfo, cause: error })
}

type AttemptOutcome =
  | { readonly ok: true; readonly value: unknown; readonly strange: readonly string[] }
  | Failure

function understand(sender: Sender, attempted: AttemptEnd, info: RequestDetails): AttemptOutcome {
  switch (attempted.kind) {
    case 'answered':
      return understandAnswer(sender, attempted, info)
    case 'aborted':
      return { ok: false, error: attempted.reason, repeat: 'never', unclear: true }
    case 'timeout': {
      const message = `no complete response within ${attempted.timeout} ms`
      const error = new TimeoutError({ code: 'TIMEOUT', message, requestInfo: info })
      return { ok: false, error, repeat: 'reads', unclear: true }
    }
    case 'too large':
      return malformed(info, 'the response is too large', 'never')
    case 'broken': {
      const { error: cause } = attempted
      const unsent = provesUnsent(cause)
      const what = unsent ? 'no connection' : 'the connection broke'
      const error = new NetworkError({
        code: 'NETWORK_ERROR',
        message: sender.redact([what, faultCode(cause)].filter(Boolean).join(', ')),
        requestInfo: info,
        cause: showable(cause, sender.redact),
      })
      return { ok: false, error, repeat: unsent ? 'again' : 'reads', unclear: !unsent }
    }
  }
}

function understandAnswer(
  sender: Sender,
  answer: Extract<AttemptEnd, { readonly kind: 'answered' }>,
  info: RequestDetails,
): AttemptOutcome {
  const { status, headers, text } = answer
  if (status >= 200 && status < 300) {
    const parsed = text === undefined ? undefined : parseJson(text, deepestAnswer)
    // A JSON body was truncated on its way and may be whole next time; any other body would be the
    // same again.
    const isCut = /json/i.test(headers.get('content-type') ?? '')
    if (!parsed) return malformed(info, 'the response is not JSON', isCut ? 'reads' : 'never')
    const reading = readAnswer(info.endpoint, parsed.value)
    return reading.ok ? reading : malformed(info, reading.why, 'never')
  }
  const retryAfter = readRetryAfter(headers, sender.now())
  const error = refusedAnswer(answer, info, { retryAfter, redact: sender.redact })
  // The rate is the key's: everyone who shares it waits too.
  if (retryAfter && (status === 429 || status === 503)) {
    sender.limiter?.pause(Math.min(retryAfter, sender.retry.maxRetryAfter))
  }
  if (status === 429) return { ok: false, error, repeat: 'again', retryAfter, unclear: false }
  if (status >= 500) return { ok: false, error, repeat: 'reads', retryAfter, unclear: true }
  return { ok: false, error, repeat: 'never', unclear: false }
}

function malformed(
  requestInfo: RequestDetails,
  message: string,
  repeat: Failing['repeat'],
): AttemptOutcome {
  const error = new MalformedResponseError({ code: 'RESPONSE_MALFORMED', message, requestInfo })
  return { ok: false, error, repeat, unclear: true }
}
