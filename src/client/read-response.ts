// Reads responses leniently: unknown fields and values are kept, fields that are not
// as documented are reported, and only a response without what every caller needs is refused.
import {
  openAssembledSchema,
  openClientSchema,
  openVerificationSchema,
  pageSchema,
} from '../protocol/resources.ts'
import type { EndpointName } from './api-error.ts'

/** The resources and pages of section 4, as a lenient reader takes them. */
const schemas = {
  createVerification: openVerificationSchema,
  listVerifications: pageSchema(openVerificationSchema),
  getVerification: openAssembledSchema,
  createClient: openClientSchema,
  listClients: pageSchema(openClientSchema),
  getClient: openClientSchema,
} as const satisfies Record<EndpointName, unknown>

/** The response of an endpoint. */
export type Answer<Name extends EndpointName> = (typeof schemas)[Name]['_output']

/** A usable response, with the places where it is not as documented. */
export type ResponseReading =
  | { readonly ok: true; readonly value: unknown; readonly strange: readonly string[] }
  | { readonly ok: false; readonly why: string }

/** Reads the JSON of a success. */
export function readAnswer(endpoint: EndpointName, value: unknown): ResponseReading {
  const usable = endpoint.startsWith('list') ? isPage(value) : isResource(value)
  if (!usable) return { ok: false, why: missing(endpoint) }
  const issues = schemas[endpoint].safeParse(value).error?.issues ?? []
  // Places alone: a message or a value could contain personal data.
  const places = issues.map(({ path }) =>
    path.map((step) => (typeof step === 'number' ? '*' : String(step))).join('.'),
  )
  return { ok: true, value, strange: [...new Set(places)] }
}

function missing(endpoint: EndpointName): string {
  if (endpoint.startsWith('list')) {
    return 'the response is not a page: it needs data and pagination.hasNext'
  }
  const what = endpoint.endsWith('Client') ? 'client' : 'verification'
  return `the response is not a ${what}: it has no id`
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
