// From an error response to the error of its status (section 7). A body that is not the error form,
// such as an HTML page of a proxy, still gives the right class.
import { parseJson } from '../foundation/json.ts'
import { errorBodySchema, errorCodes } from '../protocol/resources.ts'
import {
  ApiError,
  type ApiErrorInit,
  BadRequestError,
  ForbiddenError,
  NotFoundError,
  PaymentRequiredError,
  RateLimitedError,
  type RequestDetails,
  ServerError,
  UnauthorizedError,
  ValidationError,
} from './api-error.ts'
import type { Answered } from './attempt.ts'

/** An error response, and what its error needs besides. */
export interface Refused {
  readonly answer: Answered
  readonly requestInfo: RequestDetails
  /** Milliseconds of `Retry-After`. */
  readonly retryAfter: number | undefined
  /** Removes the API key from what the service says. */
  readonly redact: (text: string) => string
}

/** The error of a response. */
export function refusedAnswer({ answer, requestInfo, retryAfter, redact }: Refused): ApiError {
  const { status, headers } = answer
  const body = errorBody(answer)
  const said = redact(body?.message ?? unreadable(answer)).slice(0, 500)
  const init = <Code extends string>(code: Code): ApiErrorInit<Code> => ({
    code,
    status,
    message: `${status} ${code}, ${said}`,
    requestInfo,
  })
  const seconds = retryAfter === undefined ? undefined : Math.ceil(retryAfter / 1000)
  switch (status) {
    case 400:
      return new BadRequestError(init('BAD_REQUEST'))
    case 401:
      return new UnauthorizedError(init('UNAUTHORIZED'))
    case 402:
      return new PaymentRequiredError(init('PAYMENT_REQUIRED'))
    case 403:
      return new ForbiddenError(init('FORBIDDEN'))
    case 404:
      return new NotFoundError(init('NOT_FOUND'), { byService: isErrorForm(answer) })
    case 422: {
      const errors = (body?.errors ?? []).map(({ field, message }) => ({
        field: redact(field),
        message: redact(message),
      }))
      return new ValidationError({ ...init('VALIDATION_ERROR'), errors })
    }
    case 429:
      return new RateLimitedError(init('RATE_LIMITED'), {
        retryAfter: seconds,
        limit: whole(headers.get('x-ratelimit-limit')),
        remaining: whole(headers.get('x-ratelimit-remaining')),
      })
  }
  if (status >= 500) return new ServerError(init('SERVER_ERROR'), { retryAfter: seconds })
  const code = redact(body?.code ?? '')
  return new ApiError(init(/^\w{1,60}$/.test(code) ? code : `HTTP_${status}`))
}

function errorBody({ text }: Answered) {
  return errorBodySchema.partial().safeParse(jsonOf(text)).data
}

/** The whole form of section 7, with this status and its code. */
function isErrorForm({ text, status }: Answered): boolean {
  const { data } = errorBodySchema.safeParse(jsonOf(text))
  if (data?.statusCode !== status) return false
  return data.code === errorCodes[status as keyof typeof errorCodes]
}

function jsonOf(text: string | undefined): unknown {
  return text === undefined ? undefined : parseJson(text)?.value
}

function unreadable({ status, headers }: Answered): string {
  if (status >= 300 && status < 400) {
    return 'redirects are not followed, because the API key would go with them: correct baseUrl'
  }
  const type = headers.get('content-type')?.split(';', 1)[0] || 'no content type'
  return `with a body that is not the service's error form (${type})`
}

function whole(text: string | null): number | undefined {
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined
}
