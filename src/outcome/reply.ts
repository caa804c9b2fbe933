// The HTTP reply to an outcome: a code, never a cause. No override turns a failure into a success.

import type { HeadersInput } from '../delivery.ts'
import type { OutcomeCode } from '../errors.ts'
import { inTime } from '../foundation/abortable.ts'
import { invalid, shown } from '../foundation/check.ts'
import { type warn, warnOnce } from '../foundation/warn.ts'
import { ignoreRejection, isPromise } from '../host/promises.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import type { Outcome, OutcomeKind } from './outcome.ts'
import { failed, rejected, taken } from './table.ts'

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

/** An unauthenticated request. */
export interface HandshakeRequest {
  readonly method: string
  readonly url: string | undefined
  readonly headers: HeadersInput
}

/**
 * Makes replies from outcome and event, for senders that want an answer to their challenge. It
 * cannot turn a failure on our side into a success.
 */
export interface Responder {
  (outcome: Outcome, event: WebhookEvent | undefined): ReplyChange | Promise<ReplyChange>
  /** Answers requests that come before any event, such as a GET; no handler runs for them. */
  readonly handshake?: (request: HandshakeRequest) => Reply | undefined
}

const type = 'application/json; charset=utf-8'
const json = { 'content-type': type } as const

/** Seconds after which a sender may try again when the fault is ours. */
const retryAfter = '5'

type ArrivedRequest = Omit<HandshakeRequest, 'url'> & { readonly url?: string | undefined }

/** The replies of one receiver, by its `respond` option or its vendor. */
export class Replies {
  readonly #table: RespondOption | undefined
  readonly #responder: Responder | undefined
  /** Replies by the code or kind of their outcome, made once. */
  readonly #ready = new Map<string, Reply>()
  readonly #warn = warnOnce()

  /** @throws WebhookError `OPTION_INVALID` */
  constructor(
    respond: RespondOption | Responder | undefined,
    adapt?: (own: RespondOption | Responder) => RespondOption | Responder,
  ) {
    const own = checkRespond(respond)
    const checked = adapt ? adapt(own) : own
    if (typeof checked === 'function') this.#responder = checked
    else this.#table = checked
  }

  /** The reply to a handshake, or to a method other than POST: neither carries a delivery. */
  beforeDelivery(request: ArrivedRequest): Reply | undefined {
    if (typeof request?.method !== 'string') {
      throw invalid(`handle expects { method, headers, read }, got ${shown(request)}`)
    }
    const handshake = this.#responder?.handshake && this.#handshake(request)
    if (handshake) return handshake
    const isPost = request.method === 'POST' || request.method.toUpperCase() === 'POST'
    return isPost ? undefined : methodNotAllowed
  }

  /**
   * The user's function may throw on a request of an unauthenticated client: then there is no
   * handshake.
   */
  #handshake({ method, url, headers }: ArrivedRequest): Reply | undefined {
    try {
      const reply = this.#responder?.handshake?.({ method, url, headers })
      if (!reply) return undefined
      const isWhole = reply.status !== undefined && reply.headers && reply.body !== undefined
      const why = isWhole ? faultOf(reply) : 'no whole reply'
      if (why === undefined) return reply
      this.#warn(`handshake returned ${why}`, 'RESPOND_REFUSED')
      ignoreRejection(reply)
    } catch (error) {
      const thrown = error instanceof Error ? error.name : typeof error
      this.#warn(`handshake threw ${thrown}: it was passed over`, 'RESPOND_FAILED')
    }
    return undefined
  }

  /** Returns a promise only if a function makes the reply. */
  to(outcome: Outcome, event: WebhookEvent | undefined): Reply | Promise<Reply> {
    const responder = this.#responder
    if (responder) return respondWith({ responder, warn: this.#warn }, outcome, event)
    const name = 'code' in outcome ? outcome.code : outcome.kind
    // The message of a rejection is about its own request.
    if (outcome.kind === 'rejected' && outcome.message) return toReply(outcome, this.#table)
    const ready = this.#ready.get(name)
    if (ready) return ready
    const { status, headers, body } = toReply(outcome, this.#table)
    const reply = Object.freeze({ status, headers: Object.freeze({ ...headers }), body })
    this.#ready.set(name, reply)
    return reply
  }
}

/**
 * The HTTP reply for an outcome: a code, never a cause.
 *
 * @throws WebhookError `OPTION_INVALID` for anything else
 */
export function toReply(outcome: Outcome, respond: RespondOption = {}): Reply {
  const standard = standardReply(outcome)
  const override = overrideOf(respond, outcome)
  return override === undefined ? standard : changedReply(outcome, standard, override)
}

export function overrideOf(respond: RespondOption, outcome: Outcome): ReplyChange {
  const code = 'code' in outcome ? outcome.code : undefined
  return (code && respond[code]) ?? respond[outcome.kind]
}

/** Milliseconds for an answer of a responder. */
const responderTimeout = 5_000

interface Responding {
  readonly responder: Responder
  readonly warn: typeof warn
}

/**
 * Returns the responder's reply, or the standard reply if the responder fails or would hide a
 * failure on our side.
 */
async function respondWith(
  { responder, warn: report }: Responding,
  outcome: Outcome,
  event: WebhookEvent | undefined,
): Promise<Reply> {
  const standard = standardReply(outcome)
  try {
    const answer = responder(outcome, event)
    // The delivery is decided already: its sender must not wait for a responder that hangs.
    const change = isPromise(answer) ? await inTime(answer, responderTimeout, 'respond') : answer
    if (change === undefined) return standard
    const reply = changedReply(outcome, standard, change)
    const why = faultOf(reply) ?? (outcome.kind === 'failed' ? hiding(reply.status) : undefined)
    if (why === undefined) return reply
    report(`respond returned ${why} for ${outcome.kind}`, 'RESPOND_REFUSED')
  } catch (error) {
    const thrown = error instanceof Error ? error.name : typeof error
    report(`respond threw ${thrown}: the standard reply was sent`, 'RESPOND_FAILED')
  }
  return standard
}

function changedReply(
  outcome: Outcome,
  standard: Reply,
  override: Exclude<ReplyChange, undefined>,
): Reply {
  const code = 'code' in outcome ? outcome.code : undefined
  const changed = typeof override === 'number' ? { status: override } : override
  const status = changed.status ?? standard.status
  // An override replaces a standard header in any spelling.
  const own = new Set(Object.keys(changed.headers ?? {}).map((name) => name.toLowerCase()))
  const others = Object.entries(standard.headers).filter(([name]) => !own.has(name))
  return {
    status,
    headers: { ...Object.fromEntries(others), ...changed.headers },
    body: changed.body ?? (code ? errorBody(code, messageOf(code), status) : standard.body),
  }
}

function standardReply(outcome: Outcome): Reply {
  switch (outcome?.kind) {
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
      return errorReply(outcome.code, rejected[outcome.code]?.[0], outcome.message)
    case 'failed':
      return errorReply(outcome.code, failed[outcome.code]?.[0])
    default:
      throw noOutcome()
  }
}

const noOutcome = () =>
  invalid(
    'toReply expects an outcome of receiver.receive(): toReply(await receiver.receive(delivery))',
  )

function errorReply(code: OutcomeCode, status: number | undefined, message?: string): Reply {
  if (status === undefined) throw noOutcome()
  const headers = status === 503 ? { ...json, 'retry-after': retryAfter } : json
  return { status, headers, body: errorBody(code, message ?? messageOf(code), status) }
}

function messageOf(code: OutcomeCode): string {
  return { ...rejected, ...failed }[code][1]
}

/** The service's own error form (section 7). */
function errorBody(code: string, message: string, statusCode: number): string {
  return JSON.stringify({ code, message, statusCode })
}

/** The reply to a method other than POST, if the adapter owns the method. */
const methodNotAllowed: Reply = {
  status: 405,
  headers: { 'content-type': type, allow: 'POST' },
  body: /* @__PURE__ */ errorBody('METHOD_NOT_ALLOWED', 'send events with POST', 405),
}

/**
 * Checks the `respond` option.
 *
 * @throws WebhookError `OPTION_INVALID` for an unknown outcome, no status, what no server can send,
 * or a success, after which the sender would not repeat an event that nothing has handled.
 */
function checkRespond(respond: RespondOption | Responder = {}): RespondOption | Responder {
  if (typeof respond === 'function') return respond
  if (typeof respond !== 'object' || respond === null) {
    const form = '{ rejected: 404 } or a function (outcome, event) => reply'
    throw invalid(`respond must be an object or a function, e.g. ${form}, got ${shown(respond)}`)
  }
  const kinds = { ...taken, ...rejected, ...failed, rejected, failed }
  for (const [key, override] of Object.entries(respond)) {
    if (override === undefined) continue
    const changed = typeof override === 'number' ? { status: override } : override
    const isFailure = key === 'failed' || Object.hasOwn(failed, key)
    const why = Object.hasOwn(kinds, key)
      ? (faultOf(changed) ?? (isFailure ? hiding(changed.status) : undefined))
      : 'nothing: it is not a kind or a code of the outcome table'
    if (why !== undefined) throw invalid(`respond.${key} answers with ${why}`)
  }
  return respond
}

/** A success after which the sender would forget an event that nothing has handled. */
const hiding = (status = 500) => (status < 300 ? `status ${status}, a success` : undefined)

/** Describes the part of a reply that no server can send: an echo may hold line breaks. */
function faultOf(reply: Partial<Reply>): string | undefined {
  if (!isPlain(reply)) return `${shown(reply)}: use a status or parts of { status, headers, body }`
  const { status = 200, headers = {}, body } = reply
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    return `status ${String(status)}: use 200 to 599`
  }
  if (typeof (body ?? '') !== 'string')
    return `a body that is ${shown(body)}: use JSON.stringify({ … })`
  if (isPlain(headers) && Object.entries<unknown>(headers).every(isSendable)) return undefined
  return "headers that no server can send: use { 'x-note': 'text in ASCII' }"
}

/** Headers of the server: over HTTP/2 they are an error. */
const ofConnection =
  /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|trailer)$/i

/** Servers take numbers and lists of values too, and throw at undefined. */
const isSendable = ([name, value]: readonly [string, unknown]) =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
  !ofConnection.test(name) &&
  [value].flat().every(isHeaderValue)

const isHeaderValue = (value: unknown) =>
  ['string', 'number', 'boolean'].includes(typeof value) &&
  /^[\t\x20-\x7e\x80-\xff]*$/.test(String(value))

/** True for a record: `Headers` and lists of pairs would be sent as no headers, or as others. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(Symbol.iterator in value)
