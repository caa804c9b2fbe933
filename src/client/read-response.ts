// Reads responses leniently: unknown fields and values are kept, fields that are not as documented are
// reported, and only a response without what every caller needs is refused. An error response gives
// the error of its status (section 7), even if its body is the page of a proxy.
import { parseJson } from '../foundation/json.ts'
import {
  errorBodySchema,
  errorCodes,
  openAssembledSchema,
  pageSchema,
  partialErrorSchema,
} from '../protocol/api-schemas.ts'
import { openClientSchema, openVerificationSchema } from '../protocol/resources.ts'
import {
  ApiError,
  type ApiErrorInit,
  BadRequestError,
  type EndpointName,
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

/** The resources and pages of section 4, as a lenient reader takes them. */
const schemas = {
  createVerification: openVerificationSchema,
  listVerifications: pageSchema(openVerificationSchema),
  getVerification: openAssembledSchema,
  createClient: openClientSchema,
  listClients: pageSchema(openClientSchema),
  getClient: openClientSchema,
} as const satisfies Record<EndpointName, unknown>

export type Answer<Name extends EndpointName> = (typeof schemas)[Name]['_zod']['output']

/** A usable response, and the places where it differs from the documentation. */
export type ResponseReading =
  | { readonly ok: true; readonly value: unknown; readonly strange: readonly string[] }
  | { readonly ok: false; readonly why: string }

export function readAnswer(endpoint: EndpointName, value: unknown): ResponseReading {
  const isList = endpoint.startsWith('list')
  const why = isList
    ? 'the response is not a page: it needs data and pagination.hasNext'
    : 'the response has no id'
  if (!(isList ? isPage(value) : isResource(value))) return { ok: false, why }
  const issues = schemas[endpoint].safeParse(value).error?.issues ?? []
  // Only places: a message or a value could contain personal data.
  const places = issues.map(({ path }) =>
    path.map((step) => (typeof step === 'number' ? '*' : String(step))).join('.'),
  )
  return { ok: true, value, strange: [...new Set(places)] }
}

function isPage(value: unknown): boolean {
  if (!isObject(value) || !Array.isArray(value.data) || !value.data.every(isResource)) return false
  return isObject(value.pagination) && typeof value.pagination.hasNext === 'boolean'
}

function isResource(value: unknown): boolean {
  return isObject(value) && typeof value.id === 'string' && value.id !== ''
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The error of a response; `retryAfter` are milliseconds, `redact` removes the API key. */
export function refusedAnswer(
  answer: Answered,
  requestInfo: RequestDetails,
  { retryAfter, redact }: { retryAfter: number | undefined; redact: (text: string) => string },
): ApiError {
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
  if (status >= 500) return new ServerError(init('SERVER_ERROR'), seconds)
  const code = redact(body?.code ?? '')
  return new ApiError(init(/^\w{1,60}$/.test(code) ? code : `HTTP_${status}`))
}

function errorBody({ text }: Answered) {
  return partialErrorSchema.safeParse(jsonOf(text)).data
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
