// The errors that a call of the client can end in: one family, each member with a literal code. No
// error holds the API key, a query or a body.
import { defined } from '../foundation/defined.ts'
import { apiErrorBrand } from '../host/brands.ts'
import type { endpoints } from './contract.ts'

/** The name of an endpoint in the contract's table. */
export type EndpointName = keyof typeof endpoints

/** The options of every call. */
export interface CallOptions {
  /**
   * Ends the call and its waits with the signal's reason. A create call that was already sent
   * ends in `OutcomeUnknownError`, with the reason as its cause.
   */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for each attempt; the client's `timeout` by default. */
  readonly timeout?: number | undefined
  /** Leaves half of the limiter's rate to other calls; for reads that can wait. */
  readonly background?: boolean | undefined
}

/** Identifies the call in your code; never a query, a body or the key. */
export interface RequestDetails {
  readonly endpoint: EndpointName
  readonly method: 'GET' | 'POST'
  /** The path below the base address, without the query. */
  readonly path: string
  /** The number of times that it was sent; 0 if it was refused before sending. */
  readonly attempts: number
}

/** One invalid field, as in the `errors` of a 422 (section 7). */
export interface FieldError {
  readonly field: string
  readonly message: string
}

export interface ApiErrorInit<Code extends string = string> {
  readonly code: Code
  readonly message: string
  readonly status?: number | undefined
  readonly requestInfo: RequestDetails
  readonly cause?: unknown
}

/** A failed call; used directly for statuses that the service does not document. */
export class ApiError<Code extends string = string> extends Error {
  override readonly name: string = 'ApiError'
  readonly code: Code
  /** The HTTP status, if a response arrived; 422 also for input that was refused before sending. */
  declare readonly status?: number
  readonly requestInfo: RequestDetails

  constructor({ code, message, status, requestInfo, cause }: ApiErrorInit<Code>) {
    const { method, path } = requestInfo
    super(`${method} ${path}: ${message}`, cause === undefined ? undefined : { cause })
    this.code = code
    if (status !== undefined) this.status = status
    this.requestInfo = requestInfo
    Object.defineProperty(this, apiErrorBrand, { value: true })
  }
}

/** Tells an error of this family, also one of another installed copy of this package. */
export function isApiError(value: unknown): value is ApiError {
  return typeof value === 'object' && value !== null && apiErrorBrand in value
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

/** 404: the resource does not exist, or it belongs to another organization. */
export class NotFoundError extends ApiError<'NOT_FOUND'> {
  override readonly name = 'NotFoundError'
  /** True for the service's own error form; false for a proxy's page or a wrong address. */
  readonly byService: boolean

  constructor(init: ApiErrorInit<'NOT_FOUND'>, { byService }: { readonly byService: boolean }) {
    super(init)
    this.byService = byService
  }
}

/** 422: invalid fields, found before sending (`attempts` is 0) or by the service. */
export class ValidationError extends ApiError<'VALIDATION_ERROR'> {
  override readonly name = 'ValidationError'
  readonly errors: readonly FieldError[]

  constructor(
    init: Omit<ApiErrorInit, 'code' | 'status'> & { readonly errors: readonly FieldError[] },
  ) {
    const faults = init.errors.map(({ field, message }) => `${field || 'input'}: ${message}`)
    // A log must be able to hold it; `errors` has all.
    const message = [init.message, ...faults].join('; ').slice(0, 4000)
    super({ ...init, message, code: 'VALIDATION_ERROR', status: 422 })
    this.errors = init.errors
  }
}

/** The rate-limit headers of a response (section 8); each only if it was sent. */
export interface RateLimitDetails {
  /** Seconds until the rate-limit window resets. */
  readonly retryAfter?: number | undefined
  readonly limit?: number | undefined
  readonly remaining?: number | undefined
}

/** 429: too many requests, after all retries. */
export class RateLimitedError extends ApiError<'RATE_LIMITED'> {
  override readonly name = 'RateLimitedError'
  declare readonly retryAfter?: number
  declare readonly limit?: number
  declare readonly remaining?: number

  constructor(init: ApiErrorInit<'RATE_LIMITED'>, details: RateLimitDetails) {
    super(init)
    Object.assign(this, defined(details))
  }
}

/** 5xx: the service or something in front of it failed, after all retries. */
export class ServerError extends ApiError<'SERVER_ERROR'> {
  override readonly name = 'ServerError'
  /** Seconds, if the response had a `Retry-After` header. */
  declare readonly retryAfter?: number

  constructor(init: ApiErrorInit<'SERVER_ERROR'>, retryAfter?: number) {
    super(init)
    Object.assign(this, defined({ retryAfter }))
  }
}

/** The request failed before a response arrived (DNS, connection refused, reset). */
export class NetworkError extends ApiError<'NETWORK_ERROR'> {
  override readonly name = 'NetworkError'
}

/** The response was not complete within `timeout`. */
export class TimeoutError extends ApiError<'TIMEOUT'> {
  override readonly name = 'TimeoutError'
}

/** A successful response that cannot be used: not JSON, truncated, or without required fields. */
export class MalformedResponseError extends ApiError<'RESPONSE_MALFORMED'> {
  override readonly name = 'MalformedResponseError'
}

/**
 * A create call that may or may not have taken effect. It was not retried, because the service has
 * no idempotency keys; `cause` is the failure. List what exists before you call again.
 */
export class OutcomeUnknownError extends ApiError<'OUTCOME_UNKNOWN'> {
  override readonly name = 'OutcomeUnknownError'

  constructor(init: Omit<ApiErrorInit, 'code' | 'message'>) {
    const message =
      'it is unknown whether the service processed the request, so it was not retried: list the records to see whether it exists'
    super({ ...init, message, code: 'OUTCOME_UNKNOWN' })
  }
}
