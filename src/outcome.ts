// What became of a delivery, and the one table from outcome to reply.

import type { HandlerFailure } from './dispatch/handler.ts'
import type { HeadersInput } from './foundation/delivery.ts'
import {
  type FailedCode,
  type OutcomeCode,
  type RejectedCode,
  WebhookError,
} from './foundation/errors.ts'
import { warn } from './foundation/warn.ts'
import type { Issue, WebhookEvent } from './protocol/events.ts'
import type { Authenticity } from './protocol/scheme-definition.ts'
import { challengeAnswer, type Vendor } from './protocol/vendor.ts'
import type { Diagnosis } from './signature/diagnose.ts'

/** What proved it: which secret, and whose that is, where it says so. */
interface Proved {
  /** A signature, or no more than a shared token or an address. */
  readonly authenticity?: Authenticity
  readonly secretId?: string
  readonly tenant?: string
}

interface Understood extends Proved {
  readonly event: WebhookEvent
}

/** The result of a delivery; `kind` is literal, and so is the `code` of a refusal or failure. */
export type Outcome =
  | ({ readonly kind: 'handled' } & Understood)
  | ({ readonly kind: 'ignored' } & Understood)
  | ({ readonly kind: 'accepted'; readonly entryId: string } & Proved)
  | ({
      readonly kind: 'duplicate'
      readonly entryId: string
      /** The same key came with other bytes: kept as evidence, not run. */
      readonly conflict?: true
    } & Proved)
  | ({
      readonly kind: 'rejected'
      readonly code: RejectedCode
      readonly issues?: readonly Issue[]
      /** For the operator, never the sender: what was proved about the cause, if anything. */
      diagnose(): Promise<Diagnosis | undefined>
    } & Proved)
  | ({
      readonly kind: 'failed'
      readonly code: FailedCode
      /** The fix, for the operator. */
      readonly message?: string
      /** Every handler that failed, in the order in which they ran. */
      readonly errors?: readonly HandlerFailure[]
      /** The cause on our side: the look-up of secrets, or the store. */
      readonly error?: unknown
      readonly event?: WebhookEvent
    } & Proved)

export type OutcomeKind = Outcome['kind']

/** An HTTP answer: `body` is JSON text. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Overrides of the outcome table, by kind or, more closely, by code. */
export type RespondOption = Partial<Record<OutcomeKind | OutcomeCode, number | Partial<Reply>>>

/** The changes that a responder may return: a status, or parts of the reply. */
export type ReplyChange = number | Partial<Reply> | undefined

/** A request before anything of it is proved. */
export interface HandshakeRequest {
  readonly method: string
  readonly url: string | undefined
  readonly headers: HeadersInput
}

/**
 * Makes replies from outcome and event, for senders that want an answer to their challenge. A
 * failure on our side stays one whatever it returns.
 */
export interface Responder {
  (outcome: Outcome, event: WebhookEvent | undefined): ReplyChange | Promise<ReplyChange>
  /** Answers requests that come before any event, such as a GET; no handler runs for them. */
  readonly handshake?: (request: HandshakeRequest) => Reply | undefined
}

/** Seconds after which a sender may try again when the fault is ours. */
const retryAfter = '5'

const rejected: Readonly<Record<RejectedCode, readonly [status: number, message: string]>> = {
  SIGNATURE_MISSING: [401, 'the signature is missing'],
  SIGNATURE_MALFORMED: [401, 'the signature is malformed'],
  SIGNATURE_MISMATCH: [401, 'the signature does not match'],
  TIMESTAMP_OUTSIDE_TOLERANCE: [401, 'the signed time is outside the tolerance'],
  HEADER_AMBIGUOUS: [400, 'a security header is repeated'],
  ADDRESS_NOT_ALLOWED: [403, 'the address is not allowed'],
  BODY_TOO_LARGE: [413, 'the body is too large'],
  BODY_INCOMPLETE: [400, 'the body is incomplete'],
  BODY_NOT_UTF8: [400, 'the body is not UTF-8'],
  BODY_NOT_JSON: [400, 'the body is not JSON'],
  ENVELOPE_INVALID: [400, 'the body has no event envelope'],
  EVENT_INVALID: [400, 'the event does not fit its schema'],
  CONTENT_TYPE_UNSUPPORTED: [415, 'the content type is not JSON'],
  ENCODING_UNSUPPORTED: [415, 'compressed bodies are not supported'],
}

const failed: Readonly<Record<FailedCode, readonly [status: number, message: string]>> = {
  HANDLER_FAILED: [500, 'the event could not be handled'],
  HANDLER_TIMEOUT: [500, 'the event could not be handled in time'],
  BODY_CONSUMED: [503, 'the receiver is not set up correctly'],
  STORE_UNAVAILABLE: [503, 'the receiver is temporarily unavailable'],
  SECRET_UNAVAILABLE: [503, 'the receiver is temporarily unavailable'],
  OVERLOADED: [503, 'the receiver is overloaded'],
  DRAINING: [503, 'the receiver is shutting down'],
}

/** Tells the faults on our side from those of the sender. */
function isFailedCode(code: OutcomeCode): code is FailedCode {
  return Object.hasOwn(failed, code)
}

const taken = { handled: 200, ignored: 200, duplicate: 200, accepted: 202 } as const

const json = { 'content-type': 'application/json; charset=utf-8' } as const

/** The HTTP reply for an outcome: a code, never a cause. */
export function toReply(outcome: Outcome, respond: RespondOption = {}): Reply {
  const standard = standardReply(outcome)
  const override = overrideOf(respond, outcome)
  return override === undefined ? standard : changedReply(outcome, standard, override)
}

function overrideOf(respond: RespondOption, outcome: Outcome): ReplyChange {
  const code = 'code' in outcome ? outcome.code : undefined
  return (code && respond[code]) ?? respond[outcome.kind]
}

/** The reply that a responder makes; the standard one where it fails, or hides a failure of ours. */
export async function respondWith(
  responder: Responder,
  outcome: Outcome,
  event: WebhookEvent | undefined,
): Promise<Reply> {
  const standard = standardReply(outcome)
  try {
    const change = await responder(outcome, event)
    if (change === undefined) return standard
    const reply = changedReply(outcome, standard, change)
    const isStatus = Number.isInteger(reply.status) && reply.status >= 200 && reply.status <= 599
    if (!isSendable(reply)) {
      warn('respond returned a header or body that no server can send', 'IDV_RESPOND_REFUSED')
      return standard
    }
    if (isStatus && !(outcome.kind === 'failed' && reply.status < 300)) return reply
    warn(`respond returned status ${reply.status} for ${outcome.kind}`, 'IDV_RESPOND_REFUSED')
  } catch (error) {
    const thrown = error instanceof Error ? error.name : typeof error
    warn(`respond threw ${thrown}: the standard reply was sent`, 'IDV_RESPOND_FAILED')
  }
  return standard
}

/** An echo of what a stranger sent may hold line breaks, at which a server throws. */
function isSendable({ headers, body }: Reply): boolean {
  if (typeof body !== 'string') return false
  return Object.entries(headers).every(
    ([name, value]) =>
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value),
  )
}

function changedReply(
  outcome: Outcome,
  standard: Reply,
  override: Exclude<ReplyChange, undefined>,
): Reply {
  const code = 'code' in outcome ? outcome.code : undefined
  const changed = typeof override === 'number' ? { status: override } : override
  const status = changed.status ?? standard.status
  return {
    status,
    headers: { ...standard.headers, ...changed.headers },
    body: changed.body ?? (code ? errorBody(code, messageOf(code), status) : standard.body),
  }
}

function standardReply(outcome: Outcome): Reply {
  switch (outcome.kind) {
    case 'handled':
    case 'ignored':
    case 'duplicate':
    case 'accepted':
      return {
        status: taken[outcome.kind],
        headers: json,
        body: JSON.stringify({ outcome: outcome.kind }),
      }
    case 'rejected':
      return errorReply(outcome.code, rejected[outcome.code][0])
    case 'failed':
      return errorReply(outcome.code, failed[outcome.code][0])
  }
}

function errorReply(code: OutcomeCode, status: number): Reply {
  const headers = status === 503 ? { ...json, 'retry-after': retryAfter } : json
  return { status, headers, body: errorBody(code, messageOf(code), status) }
}

function messageOf(code: OutcomeCode): string {
  return { ...rejected, ...failed }[code][1]
}

/** The service's own error form (section 7). */
function errorBody(code: string, message: string, statusCode: number): string {
  return JSON.stringify({ code, message, statusCode })
}

/** The reply to a method other than POST, where the adapter owns the method. */
export const methodNotAllowed: Reply = {
  status: 405,
  headers: { ...json, allow: 'POST' },
  body: errorBody('METHOD_NOT_ALLOWED', 'send events with POST', 405),
}

/**
 * Checks the `respond` option.
 *
 * @throws WebhookError `OPTION_INVALID` for an unknown outcome, no status, or a success that would
 * tell the sender to forget an event which nothing has handled.
 */
export function checkRespond(respond: RespondOption | Responder = {}): RespondOption | Responder {
  if (typeof respond === 'function') return respond
  for (const [key, override] of Object.entries(respond)) {
    const status = typeof override === 'number' ? override : override?.status
    const isFailure = key === 'failed' || Object.hasOwn(failed, key)
    const isOutcome =
      isFailure || key === 'rejected' || key in taken || Object.hasOwn(rejected, key)
    const refuse = (why: string) => new WebhookError('OPTION_INVALID', `respond.${key} ${why}`)
    if (!isOutcome) throw refuse('is not an outcome: use a kind or a code of the outcome table')
    if (status === undefined) continue
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw refuse(`must be an HTTP status from 200 to 599, got ${String(status)}`)
    }
    if (isFailure && status < 300) {
      throw refuse('is a success: the sender would forget an event that nothing has handled')
    }
  }
  return respond
}

/** Everything that was thrown on our side. */
export function errorsOf(outcome: Outcome): readonly HandlerFailure[] {
  if (outcome.kind !== 'failed') return []
  if (outcome.errors) return outcome.errors
  if (outcome.error === undefined) return []
  return [{ handler: 'receiver', code: 'HANDLER_FAILED' as const, error: outcome.error }]
}

export const noDiagnosis = async () => undefined

/** An outcome that only has a code. */
export function refusal(code: OutcomeCode, message?: string): Outcome {
  if (!isFailedCode(code)) return { kind: 'rejected', code, diagnose: noDiagnosis }
  return message === undefined ? { kind: 'failed', code } : { kind: 'failed', code, message }
}

/** A timeout is named only where nothing worse happened. */
export function codeOf(errors: readonly { readonly code: FailedCode }[]): FailedCode {
  const order: readonly FailedCode[] = ['HANDLER_FAILED', 'HANDLER_TIMEOUT', 'DRAINING']
  return order.find((code) => errors.some((one) => one.code === code)) ?? 'HANDLER_FAILED'
}

/**
 * What a vendor wants of replies beneath the receiver's own `respond`: its handshake answered, and
 * 200 for what was kept where its documents take nothing else for a success.
 */
export function respondTo(
  vendor: Vendor,
  own: RespondOption | Responder = {},
): RespondOption | Responder {
  const status = vendor.delivery?.success === 200 ? 200 : taken.accepted
  const kept = (change: ReplyChange) =>
    typeof change === 'number' ? change : { status, ...change }
  if (!vendor.challenge && typeof own !== 'function') {
    return { ...own, accepted: kept(own.accepted) }
  }
  const responder: Responder = async (outcome, event) => {
    const answer = challengeAnswer(vendor, event?.raw)
    if (answer !== undefined && outcome.kind !== 'rejected') return { status: 200, body: answer }
    const change = typeof own === 'function' ? await own(outcome, event) : overrideOf(own, outcome)
    return outcome.kind === 'accepted' ? kept(change) : change
  }
  const { handshake } = typeof own === 'function' ? own : {}
  return handshake ? Object.assign(responder, { handshake }) : responder
}
