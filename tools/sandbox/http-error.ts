// The error answers, in the error form of section 7. Any code throws one, and one place turns it
// into a response. It carries no stack and no secret.
import type { FieldError } from '../../src/client/api-error.ts'
import { defined } from '../../src/foundation/defined.ts'
import { type ErrorBody, errorCodes } from '../../src/protocol/api-schemas.ts'

export interface HttpErrorOptions {
  readonly code?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly errors?: readonly FieldError[]
  /** Details that the control plane adds, e.g. the allowed actions. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Codes beyond the seven of section 7, for statuses that the document does not list. */
const otherCodes: Readonly<Record<number, string>> = {
  405: 'METHOD_NOT_ALLOWED',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
}

export class HttpError extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ErrorBody

  constructor(status: number, message: string, options: HttpErrorOptions = {}) {
    super(message)
    const documented: Readonly<Record<number, string>> = errorCodes
    this.status = status
    this.headers = options.headers ?? {}
    this.body = defined({
      code: options.code ?? documented[status] ?? otherCodes[status] ?? 'ERROR',
      message,
      statusCode: status,
      errors: options.errors?.map((one) => ({ ...one })),
      ...options.more,
    })
  }

  toResponse(): Response {
    return Response.json(this.body, { status: this.status, headers: { ...this.headers } })
  }
}

/** 404, also for what another organization owns (section 7). */
export function notFound(what: string): HttpError {
  return new HttpError(404, `${what} not found`)
}

/** The value; throws 404 when it is undefined. */
export function found<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw notFound(what)
  return value
}

/** 422 with an entry for each offending field (section 7), at most 1000. */
export function invalidFields(errors: readonly FieldError[], what = 'request body'): HttpError {
  return new HttpError(422, `The ${what} failed validation`, { errors: errors.slice(0, 1000) })
}

/** 405 that names the methods of the path. */
export function methodNotAllowed(methods: readonly string[]): HttpError {
  const allow = methods.includes('GET') ? [...methods, 'HEAD'] : methods
  return new HttpError(405, `Method not allowed: use ${allow.join(' or ')}`, {
    headers: { allow: allow.join(', ') },
  })
}
