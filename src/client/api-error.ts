// The errors that a call of the client can end in: one family, each member with a literal code.
// None ever holds the API key, a query or a body.
import type { Client, Verification } from '../protocol/resources.ts'
import type { CallOptions } from './call-options.ts'
import type { endpoints } from './contract.ts'

/** The name of an endpoint in the contract's table. */
export type EndpointName = keyof typeof endpoints

/** What was asked: enough to find the call in the code, never a query, a body or the key. */
export interface RequestFacts {
  readonly endpoint: EndpointName
  readonly method: 'GET' | 'POST'
  /** Below the base address, without the query. */
  readonly path: string
  /** How often it was sent, 0 when it was refused before. */
  readonly attempts: number
}

/** One field that is wrong, as in the `errors` of a 422 (section 7). */
export interface FieldError {
  readonly field: string
  readonly message: string
}

/** What every error of the family is made of. */
export interface ApiErrorFacts<Code extends string = string> {
  readonly code: Code
  readonly message: string
  readonly status?: number | undefined
  readonly requestInfo: RequestFacts
  readonly cause?: unknown
}

const brand = Symbol.for('idv-webhooks.ApiError')

/** A call that did not end well; by itself a status that the document does not list. */
export class ApiError<Code extends string = string> extends Error {
  override readonly name: string = 'ApiError'
  readonly code: Code
  /** The HTTP status, where there was an answer; 422 also for input that was not even sent. */
  declare readonly status?: number
  readonly requestInfo: RequestFacts

  constructor({ code, message, status, requestInfo, cause }: ApiErrorFacts<Code>) {
    const { method, path } = requestInfo
    super(`${method} ${path}: ${message}`, cause === undefined ? undefined : { cause })
    this.code = code
    if (status !== undefined) this.status = status
    this.requestInfo = requestInfo
    Object.defineProperty(this, brand, { value: true })
  }
}

/** Tells an error of the family, also one of another installed copy of this package. */
export function isApiError(value: unknown): value is ApiError {
  return typeof value === 'object' && value !== null && brand in value
}

/** 400: the service could not read the request. */
export class BadRequestError extends ApiError<'BAD_REQUEST'> {
  override readonly name = 'BadRequestError'
}

/** 401: the API key is missing, wrong or revoked. */
export class UnauthorizedError extends ApiError<'UNAUTHORIZED'> {
  override readonly name = 'UnauthorizedError'
}

/** 402: the subscription is not active. */
export class PaymentRequiredError extends ApiError<'PAYMENT_REQUIRED'> {
  override readonly name = 'PaymentRequiredError'
}

/** 403: the plan has no API access. */
export class ForbiddenError extends ApiError<'FORBIDDEN'> {
  override readonly name = 'ForbiddenError'
}

/** 404: there is no such resource, or another organization owns it. */
export class NotFoundError extends ApiError<'NOT_FOUND'> {
  override readonly name = 'NotFoundError'
  /** It came in the service's own error form; false for the page of a proxy or a wrong address. */
  readonly byService: boolean

  constructor(facts: ApiErrorFacts<'NOT_FOUND'>, { byService }: { readonly byService: boolean }) {
    super(facts)
    this.byService = byService
  }
}

/** 422: fields are wrong; found here before sending (`attempts` is 0) or by the service. */
export class ValidationError extends ApiError<'VALIDATION_ERROR'> {
  override readonly name = 'ValidationError'
  readonly errors: readonly FieldError[]

  constructor(
    facts: Omit<ApiErrorFacts, 'code' | 'status'> & { readonly errors: readonly FieldError[] },
  ) {
    const fields = facts.errors.map(({ field, message }) => `${field || 'input'}: ${message}`)
    const message = [facts.message, ...fields].join('; ')
    super({ ...facts, message, code: 'VALIDATION_ERROR', status: 422 })
    this.errors = facts.errors
  }
}

/** What the headers of a 429 say (section 8). */
export interface RateFacts {
  /** Seconds until the rate limit's window resets. */
  readonly retryAfter?: number
  readonly limit?: number
  readonly remaining?: number
}

/** 429: too many requests, also after the retries. */
export class RateLimitedError extends ApiError<'RATE_LIMITED'> {
  override readonly name = 'RateLimitedError'
  declare readonly retryAfter?: number
  declare readonly limit?: number
  declare readonly remaining?: number

  constructor(facts: ApiErrorFacts<'RATE_LIMITED'>, { retryAfter, limit, remaining }: RateFacts) {
    super(facts)
    if (retryAfter !== undefined) this.retryAfter = retryAfter
    if (limit !== undefined) this.limit = limit
    if (remaining !== undefined) this.remaining = remaining
  }
}

/** 5xx: the service or something before it failed, also after the retries. */
export class ServerError extends ApiError<'SERVER_ERROR'> {
  override readonly name = 'ServerError'
  /** Seconds, where the answer had a `Retry-After`. */
  declare readonly retryAfter?: number

  constructor(facts: ApiErrorFacts<'SERVER_ERROR'>, { retryAfter }: RateFacts = {}) {
    super(facts)
    if (retryAfter !== undefined) this.retryAfter = retryAfter
  }
}

/** There was no answer: no connection, or one that broke. */
export class NetworkError extends ApiError<'NETWORK_ERROR'> {
  override readonly name = 'NetworkError'
}

/** There was no whole answer within `timeout`. */
export class TimeoutError extends ApiError<'TIMEOUT'> {
  override readonly name = 'TimeoutError'
}

/** A success that cannot be read: no JSON, cut off, or without what it must have. */
export class MalformedResponseError extends ApiError<'RESPONSE_MALFORMED'> {
  override readonly name = 'MalformedResponseError'
}

/** Asks what the service has: verifications or clients, as the create call would have made. */
type LookUp = (options?: CallOptions) => Promise<readonly (Verification | Client)[]>

/**
 * A create call after which nobody can know whether the resource exists. It was not repeated,
 * because the service has no idempotency keys; `lookUp()` tells what is there, `cause` what failed.
 */
export class OutcomeUnknownError extends ApiError<'OUTCOME_UNKNOWN'> {
  override readonly name = 'OutcomeUnknownError'
  /**
   * What the service has that fits the call in all that was given and left out, newest first; by
   * the service's clock, as far as its answers tell it, else within a day. Empty means: not there,
   * or not yet.
   *
   * @throws ApiError when the look-up itself fails; the signal's reason
   */
  declare readonly lookUp: LookUp

  constructor(facts: Omit<ApiErrorFacts, 'code' | 'message'>, lookUp: LookUp) {
    const message =
      'whether the service took it is unknown, so it was not repeated: ask error.lookUp()'
    super({ ...facts, message, code: 'OUTCOME_UNKNOWN' })
    // The input is in its closure: it must not show where errors are printed.
    Object.defineProperty(this, 'lookUp', { value: lookUp })
  }
}
