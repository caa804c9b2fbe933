// From an endpoint and its input to its answer: check, wait for the turn, send, read, and again
// where that can do no harm. Everything that the peer can do wrong becomes an error of the family.

import { sleep } from '../abortable.ts'
import type { Clock } from '../clock.ts'
import { deepestAnswer, isDeeper, parseJson } from '../json.ts'
import {
  type ApiError,
  type EndpointName,
  MalformedResponseError,
  NetworkError,
  type RequestFacts,
  TimeoutError,
} from './api-error.ts'
import { type Attempted, attempt, type Fetch } from './attempt.ts'
import { endpoints } from './contract.ts'
import type { Limiter } from './limiter.ts'
import { faultCode, provesUnsent, showable } from './network-fault.ts'
import type { ObserveRequests } from './observe-requests.ts'
import { type Call, prepared, type Target } from './prepare-call.ts'
import { type Answer, readAnswer } from './read-response.ts'
import { refusedAnswer } from './refused-answer.ts'
import { delayBefore, type Failing, type RetryPolicy, readRetryAfter } from './retry.ts'
import type { ServiceClock } from './service-clock.ts'

/** What the calls of a client share. */
export interface Sender extends Target {
  readonly fetch: Fetch
  readonly timeout: number
  readonly retry: RetryPolicy
  readonly limiter: Limiter | undefined
  readonly now: Clock
  readonly serviceClock: ServiceClock
  readonly observe: ObserveRequests
  /** Takes the API key out of a text. */
  readonly redact: (text: string) => string
}

/** A failure that may end the call, and what it says about sending again. */
interface Failure extends Failing {
  /** An ApiError, or the reason of the caller's signal. */
  readonly error: unknown
  readonly code: string
  /** The service may have done what was asked. */
  readonly unclear: boolean
}

/** What a call came to; `unclear` is decided by who knows how to look it up. */
export type Called<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false
      /** An ApiError, or the reason of the caller's signal. */
      readonly error: unknown
      readonly unclear: boolean
      readonly requestInfo: RequestFacts
      /** The body, as it was sent. */
      readonly body: string
    }

/**
 * Calls an endpoint, again where that can do no harm.
 *
 * @throws ValidationError for input that the service would refuse, before anything is sent;
 * the signal's reason where nothing can have left
 */
export async function request<Name extends EndpointName>(
  sender: Sender,
  call: Call<Name>,
): Promise<Called<Answer<Name>>> {
  const { method } = endpoints[call.endpoint]
  const { path, url, init, body } = prepared(sender, call)
  const { signal, timeout = sender.timeout } = call.options ?? {}
  for (let attempts = 1; ; attempts++) {
    const info: RequestFacts = { endpoint: call.endpoint, method, path, attempts }
    const leave = await sender.limiter?.acquire(signal)
    const began = sender.now()
    const attempted = await attempt(sender.fetch, { url, init, timeout, signal }).finally(leave)
    if (attempted.kind === 'aborted' && !attempted.sent) throw attempted.reason
    if (attempted.kind === 'answered') sender.serviceClock.heard(attempted.headers, sender.now())
    const result = understand(sender, { attempted, info, timeout })
    const delay = result.ok
      ? undefined
      : delayBefore(result, { method, attempts, dice: Math.random() }, sender.retry)
    tell(sender, { info, began, attempted, result, delay })
    // Granted here: the answer was read by the endpoint's own schema.
    if (result.ok) return { ok: true, value: result.value as Answer<Name> }
    if (delay === undefined) {
      const { error, unclear } = result
      return { ok: false, error, unclear: unclear && method === 'POST', requestInfo: info, body }
    }
    await sleep(delay, signal)
  }
}

interface Understanding {
  readonly attempted: Attempted
  readonly info: RequestFacts
  readonly timeout: number
}

type Understood =
  | { readonly ok: true; readonly value: unknown; readonly strange: readonly string[] }
  | ({ readonly ok: false } & Failure)

function understand(sender: Sender, { attempted, info, timeout }: Understanding): Understood {
  switch (attempted.kind) {
    case 'answered':
      return understandAnswer(sender, attempted, info)
    case 'aborted':
      return { ok: false, error: attempted.reason, code: 'ABORTED', repeat: 'never', unclear: true }
    case 'timeout': {
      const message = `no whole answer within ${timeout} ms`
      const error = new TimeoutError({ code: 'TIMEOUT', message, requestInfo: info })
      return failure(error, { repeat: 'reads', unclear: true })
    }
    case 'too large':
      return malformed(info, 'the answer is too large', 'never')
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
      return failure(error, { repeat: unsent ? 'again' : 'reads', unclear: !unsent })
    }
  }
}

function understandAnswer(
  sender: Sender,
  answer: Extract<Attempted, { readonly kind: 'answered' }>,
  info: RequestFacts,
): Understood {
  const { status, headers, text } = answer
  if (status >= 200 && status < 300) {
    if (text !== undefined && isDeeper(text, deepestAnswer)) {
      return malformed(info, `the answer is nested deeper than ${deepestAnswer} levels`, 'never')
    }
    const parsed = text === undefined ? undefined : parseJson(text, deepestAnswer)
    // Cut off on its way, if it calls itself JSON; else it would be the same the next time.
    const cut = /json/i.test(headers.get('content-type') ?? '')
    if (!parsed) return malformed(info, 'the answer is no JSON', cut ? 'reads' : 'never')
    const reading = readAnswer(info.endpoint, parsed.value)
    return reading.ok ? reading : malformed(info, reading.why, 'never')
  }
  const retryAfter = readRetryAfter(headers, sender.now())
  const { redact } = sender
  const error = refusedAnswer({ answer, requestInfo: info, retryAfter, redact })
  // Who is told to wait is not alone: whoever shares the key waits too.
  if (retryAfter && (status === 429 || status === 503)) {
    sender.limiter?.pause(Math.min(retryAfter, sender.retry.maxRetryAfter))
  }
  if (status === 429) return failure(error, { repeat: 'again', retryAfter, unclear: false })
  if (status >= 500) return failure(error, { repeat: 'reads', retryAfter, unclear: true })
  return failure(error, { repeat: 'never', unclear: false })
}

function malformed(
  requestInfo: RequestFacts,
  message: string,
  repeat: Failing['repeat'],
): Understood {
  const error = new MalformedResponseError({ code: 'RESPONSE_MALFORMED', message, requestInfo })
  return failure(error, { repeat, unclear: true })
}

function failure(
  error: ApiError,
  facts: Pick<Failure, 'repeat' | 'retryAfter' | 'unclear'>,
): Understood {
  return { ok: false, error, code: error.code, ...facts }
}

interface Told {
  readonly info: RequestFacts
  readonly began: Date
  readonly attempted: Attempted
  readonly result: Understood
  readonly delay: number | undefined
}

function tell(sender: Sender, { info, began, attempted, result, delay }: Told): void {
  const at = sender.now()
  sender.observe({
    type: 'request',
    at,
    ...info,
    ms: at.getTime() - began.getTime(),
    ok: result.ok,
    ...(attempted.kind === 'answered' && { status: attempted.status }),
    ...(!result.ok && { code: result.code }),
    ...(result.ok && result.strange.length > 0 && { strange: result.strange }),
    ...(delay !== undefined && { retryIn: Math.round(delay) }),
  })
}
