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

/** Letters of a longer response are not compared with the documents: each fault takes memory. */
const mostCompared = 512 * 1024
/** Records of a page that are compared: no documented page has more. */
const mostRecords = 100

/** Reads the JSON of a success, and its length. */
export function readAnswer(
  endpoint: EndpointName,
  value: unknown,
  length: number,
): ResponseReading {
  const usable = endpoint.startsWith('list') ? isPage(value) : isResource(value)
  if (!usable) return { ok: false, why: missing(endpoint) }
  const issues = length > mostCompared ? [] : issuesOf(endpoint, value)
  // Places alone: a message or a value could contain personal data.
  const places = issues.map(({ path }) =>
    path.map((step) => (typeof step === 'number' ? '*' : String(step))).join('.'),
  )
  return { ok: true, value, strange: [...new Set(places)] }
}

/** Never throws: a hundred thousand faults at once overflow the stack of the schema's reader. */
function issuesOf(endpoint: EndpointName, value: unknown) {
  try {
    return schemas[endpoint].safeParse(beginning(value)).error?.issues ?? []
  } catch {
    return []
  }
}

/** A page with its first records alone. */
function beginning(value: unknown): unknown {
  if (!isObject(value) || !Array.isArray(value.data)) return value
  return { ...value, data: value.data.slice(0, mostRecords) }
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
