// The answers that are no success, in the error form of section 7. A refusal is thrown by whatever
// finds the fault and turned into a response in one place; it never carries a stack or a secret.
import { type ErrorBody, errorCodes } from '../protocol/resources.ts'

/** One entry of a 422's `errors`. */
export interface FieldError {
  readonly field: string
  readonly message: string
}

export interface HttpErrorOptions {
  readonly code?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly errors?: readonly FieldError[]
  /** What the control plane adds, e.g. the actions that are allowed. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Codes beyond the seven of section 7, for statuses that the document does not list. */
const otherCodes: Readonly<Record<number, string>> = {
  405: 'METHOD_NOT_ALLOWED',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  417: 'EXPECTATION_FAILED',
  431: 'HEADERS_TOO_LARGE',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
}

/** A request that is answered with an error body. */
export class HttpError extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ErrorBody

  constructor(status: number, message: string, options: HttpErrorOptions = {}) {
    super(message)
    const documented: Readonly<Record<number, string>> = errorCodes
    this.status = status
    this.headers = options.headers ?? {}
    this.body = {
      code: options.code ?? documented[status] ?? otherCodes[status] ?? 'ERROR',
      message,
      statusCode: status,
      ...(options.errors && { errors: options.errors.map((one) => ({ ...one })) }),
      ...options.more,
    }
  }

  toResponse(): Response {
    return Response.json(this.body, { status: this.status, headers: { ...this.headers } })
  }
}

/** 404, also for what another organization owns (section 7). */
export function notFound(what: string): HttpError {
  return new HttpError(404, `${what} not found`)
}

/** 422 with an entry for each offending field (section 7). */
export function invalid(errors: readonly FieldError[], what = 'request body'): HttpError {
  return new HttpError(422, `The ${what} failed validation`, { errors })
}

/** 405 that names what the path takes. */
export function methodNotAllowed(methods: readonly string[]): HttpError {
  const allow = methods.includes('GET') ? [...methods, 'HEAD'] : methods
  return new HttpError(405, `Method not allowed: use ${allow.join(' or ')}`, {
    headers: { allow: allow.join(', ') },
  })
}
