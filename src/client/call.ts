// Turns a call into a request. Input is checked before anything is sent, by the schemas that the
// service's responses follow; a fault has the form of the service's own 422.
import { checkOptionNames, suggestion } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import {
  type CallOptions,
  type EndpointName,
  type FieldError,
  type RequestDetails,
  ValidationError,
} from './api-error.ts'
import { endpoints, type InputSchema, type SchemaIssue } from './contract.ts'

/** Section 9: the deprecated paths stay until interface release 2.19.0 at least. */
export type PathFamily = 'canonical' | 'legacy'

export interface Call<Name extends EndpointName = EndpointName> {
  readonly endpoint: Name
  readonly id?: string
  readonly query?: object
  readonly body?: unknown
  readonly options?: CallOptions | undefined
}

/** The address and the headers that all calls of a client share. */
export interface Target {
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly pathFamily: PathFamily
}

const optionNames: readonly (keyof CallOptions)[] = ['signal', 'timeout', 'background']

/** @throws ValidationError; WebhookError `OPTION_INVALID`; the signal's reason */
export function prepared(target: Target, { endpoint, id, query, body, options = {} }: Call) {
  checkOptionNames(endpoint, options, optionNames)
  const contract = endpoints[endpoint]
  const { method } = contract
  const pattern = contract.path
  const info: RequestDetails = { endpoint, method, path: pathOf(pattern, target), attempts: 0 }
  const wire = wireQuery(query ?? {})
  refuse(pattern.includes('{id}') ? idFaults(id) : [], info)
  // A schema's faults first: they are in the service's own words.
  if ('query' in contract) refuse(fieldErrors(contract.query.safeParse(wire).error?.issues), info)
  if ('body' in contract) refuse(fieldErrors(contract.body.safeParse(body).error?.issues), info)
  const unknown = 'query' in contract ? queryFaults(contract.query, wire) : []
  const { text, faults } = jsonOf(body)
  refuse([...unknown, ...faults, ...timeoutFaults(options.timeout)], info)
  options.signal?.throwIfAborted()
  const path = pathOf(pattern, target, id)
  const json = text !== undefined && { 'content-type': 'application/json' }
  // A redirect would carry the key to another host.
  const redirect = 'manual' as const
  const init = defined({ method, headers: { ...target.headers, ...json }, redirect, body: text })
  return { url: `${target.baseUrl}${path}${queryText(wire)}`, path, init }
}

function pathOf(pattern: string, { pathFamily }: Target, id?: string): string {
  const isLegacy = pathFamily === 'legacy'
  const path = isLegacy ? pattern.replace(/^\/verifications/, '/requests') : pattern
  return id === undefined ? path : path.replace('{id}', encodeURIComponent(id))
}

/** The faults of an id. The ids `.` and `..` would lead to another path. */
function idFaults(id: unknown): readonly FieldError[] {
  if (typeof id !== 'string') return [{ field: 'id', message: 'must be a string' }]
  if (id.isWellFormed() && !/^\.{0,2}$/.test(id)) return []
  return [{ field: 'id', message: 'must be the id of a resource' }]
}

function jsonOf(body: unknown): { readonly text?: string; readonly faults: FieldError[] } {
  try {
    return { text: JSON.stringify(body), faults: [] }
  } catch {
    return { faults: [{ field: '', message: 'cannot be written as JSON' }] }
  }
}

/** A checked query as text, with its question mark; lists are joined by commas (section 4.2). */
function queryText(query: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(query).map(([name, value]) => [name, String(value)])
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}

function timeoutFaults(timeout: number | undefined) {
  if (timeout === undefined || (timeout > 0 && timeout < 2 ** 31)) return []
  return [{ field: 'timeout', message: 'must be milliseconds above 0' }]
}

/** The first fault of each field, in the form of the service's own 422. */
export function fieldErrors(issues: readonly SchemaIssue[] = []): FieldError[] {
  const errors = new Map<string, FieldError>()
  const add = (path: readonly PropertyKey[], message: string) => {
    const field = path.map(String).join('.')
    if (!errors.has(field)) errors.set(field, { field, message })
  }
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') add(issue.path, issue.message)
    else for (const key of issue.keys) add([...issue.path, key], 'is unknown')
  }
  return [...errors.values()]
}

/** @throws ValidationError in the form of the service's own 422, if there are faults */
function refuse(errors: readonly FieldError[], requestInfo: RequestDetails): void {
  if (errors.length === 0) return
  throw new ValidationError({ message: 'the input is not valid', errors, requestInfo })
}

/** Parameters that the service does not know: it would ignore them and answer with the wrong list. */
function queryFaults(
  { shape }: InputSchema,
  query: Readonly<Record<string, unknown>>,
): readonly FieldError[] {
  const known = Object.keys(shape)
  const unknown = Object.keys(query).filter((field) => !known.includes(field))
  return unknown.map((field) => {
    return { field, message: `is not a parameter of this list.${suggestion(field, known)}` }
  })
}

/** A query as the client sends it: dates and booleans as text, one status as a list. */
function wireQuery(query: object): Record<string, unknown> {
  const given = Object.entries(defined(query))
  return Object.fromEntries(given.map(([name, value]) => [name, wireValue(name, value)]))
}

function wireValue(name: string, value: unknown): unknown {
  // An invalid date becomes text that the schema refuses.
  if (value instanceof Date) return Number.isNaN(+value) ? String(value) : value.toISOString()
  if (typeof value === 'boolean') return String(value)
  return name === 'status' && typeof value === 'string' ? value.split(',') : value
}
