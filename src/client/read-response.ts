// What an answer says, read leniently: unknown fields and values stay, a field that is not as
// documented is reported, and only an answer without what every caller needs is refused.
import {
  openAssembledSchema,
  openClientSchema,
  openVerificationSchema,
  pageSchema,
} from '../protocol/resources.ts'
import type { EndpointName } from './api-error.ts'

/** The resources and pages of section 4, as a reader takes them. */
export const readings = {
  createVerification: openVerificationSchema,
  listVerifications: pageSchema(openVerificationSchema),
  getVerification: openAssembledSchema,
  createClient: openClientSchema,
  listClients: pageSchema(openClientSchema),
  getClient: openClientSchema,
} as const satisfies Record<EndpointName, unknown>

/** What an endpoint gives. */
export type Answer<Name extends EndpointName> = (typeof readings)[Name]['_output']

/** An answer that can be used, with the places where it is not as documented. */
export type Reading =
  | { readonly ok: true; readonly value: unknown; readonly strange: readonly string[] }
  | { readonly ok: false; readonly why: string }

/** Reads the JSON of a success. */
export function readAnswer(endpoint: EndpointName, value: unknown): Reading {
  const usable = endpoint.startsWith('list') ? isPage(value) : isResource(value)
  if (!usable) return { ok: false, why: `the answer is no ${whatIs(endpoint)}` }
  const checked = readings[endpoint].safeParse(value)
  if (checked.success) return { ok: true, value, strange: [] }
  // Places alone: a message or a value could hold a person's data.
  const places = checked.error.issues.map(({ path }) =>
    path.map((step) => (typeof step === 'number' ? '*' : String(step))).join('.'),
  )
  return { ok: true, value, strange: [...new Set(places)] }
}

function whatIs(endpoint: EndpointName): string {
  if (endpoint.startsWith('list')) return 'page: it needs data and pagination.hasNext'
  return `${endpoint.endsWith('Client') ? 'client' : 'verification'}: it has no id`
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
