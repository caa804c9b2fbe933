// From an answer that is no success to the error of its status (section 7). A body that is not the
// error form, an HTML page of a proxy say, still gives the right class.
import { parseJson } from '../json.ts'
import { errorBodySchema, errorCodes } from '../protocol/resources.ts'
import {
  ApiError,
  type ApiErrorFacts,
  BadRequestError,
  ForbiddenError,
  NotFoundError,
  PaymentRequiredError,
  RateLimitedError,
  type RequestFacts,
  ServerError,
  UnauthorizedError,
  ValidationError,
} from './api-error.ts'
import type { Answered } from './attempt.ts'

/** What turns an answer into an error. */
export interface Refused {
  readonly answer: Answered
  readonly requestInfo: RequestFacts
  /** Milliseconds of `Retry-After`. */
  readonly retryAfter: number | undefined
  /** Takes the API key out of what the service says. */
  readonly redact: (text: string) => string
}

/** The error of an answer. */
export function refusedAnswer({ answer, requestInfo, retryAfter, redact }: Refused): ApiError {
  const { status, headers } = answer
  const body = errorBody(answer)
  const said = redact(body?.message ?? unreadable(answer)).slice(0, 500)
  const facts = <Code extends string>(code: Code): ApiErrorFacts<Code> => ({
    code,
    status,
    message: `${status} ${code}, ${said}`,
    requestInfo,
  })
  const seconds = retryAfter !== undefined && { retryAfter: Math.ceil(retryAfter / 1000) }
  switch (status) {
    case 400:
      return new BadRequestError(facts('BAD_REQUEST'))
    case 401:
      return new UnauthorizedError(facts('UNAUTHORIZED'))
    case 402:
      return new PaymentRequiredError(facts('PAYMENT_REQUIRED'))
    case 403:
      return new ForbiddenError(facts('FORBIDDEN'))
    case 404:
      return new NotFoundError(facts('NOT_FOUND'), { byService: isErrorForm(answer) })
    case 422: {
      const { message } = facts('VALIDATION_ERROR')
      const errors = (body?.errors ?? []).map((one) => ({
        field: redact(one.field),
        message: redact(one.message),
      }))
      return new ValidationError({ message, errors, requestInfo })
    }
    case 429:
      return new RateLimitedError(facts('RATE_LIMITED'), {
        ...seconds,
        ...whole('limit', headers.get('x-ratelimit-limit')),
        ...whole('remaining', headers.get('x-ratelimit-remaining')),
      })
  }
  if (status >= 500) return new ServerError(facts('SERVER_ERROR'), { ...seconds })
  const code = redact(body?.code ?? `HTTP_${status}`)
  return new ApiError({ ...facts(code), message: `${status} ${code}, ${said}` })
}

function errorBody({ text }: Answered) {
  const json = text === undefined ? undefined : parseJson(text)
  const read = errorBodySchema.partial().safeParse(json?.value)
  return read.success ? read.data : undefined
}

/** The whole form of section 7, with this status and its code. */
function isErrorForm({ text, status }: Answered): boolean {
  const json = text === undefined ? undefined : parseJson(text)
  const read = errorBodySchema.safeParse(json?.value)
  if (!read.success || read.data.statusCode !== status) return false
  return read.data.code === errorCodes[status as keyof typeof errorCodes]
}

function unreadable({ status, headers }: Answered): string {
  if (status >= 300 && status < 400) {
    return 'redirects are not followed, for the API key would go with them: correct baseUrl'
  }
  const type = headers.get('content-type')?.split(';', 1)[0] || 'no content type'
  return `with a body that is not the service's error form (${type})`
}

function whole<Name extends 'limit' | 'remaining'>(name: Name, text: string | null) {
  // A computed key is typed as any string.
  return (text !== null && /^\d+$/.test(text) ? { [name]: Number(text) } : {}) as {
    readonly [Key in Name]?: number
  }
}
