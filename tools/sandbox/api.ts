// The service's HTTP API under `/v2/api` (sections 4 and 9): a router over the contract's table,
// with the legacy paths beside the canonical ones. Each look-up is bound to the caller's organization.
import { type Context, Hono } from 'hono'
import type { EndpointName } from '../../src/client/api-error.ts'
import { endpoints } from '../../src/client/contract.ts'
import { createClientRecord } from './clients.ts'
import { checked, jsonBody, mount } from './exchange.ts'
import { HttpError, invalidFields, notFound } from './http-error.ts'
import { legacyPaths } from './paths.ts'
import type { Schema } from './schemas/control.ts'
import type { Organization } from './schemas/snapshot.ts'
import { pageOf, selectClients, selected, selectVerifications } from './selections.ts'
import type { State } from './state.ts'
import { assemble, createVerification } from './verifications.ts'

interface EndpointCall {
  readonly state: State
  readonly organization: Organization
  readonly request: Request
  /** The id in the path; empty if the path has none. */
  readonly id: string
  /** The names that the endpoint does not know and therefore ignores. */
  readonly unknown: string[]
}

type EndpointHandler = (call: EndpointCall) => unknown

/** Handlers of the endpoints, by the contract's names. */
const answers: Readonly<Record<EndpointName, EndpointHandler>> = {
  async createVerification(call) {
    const input = await checkedBody(endpoints.createVerification.body, call)
    return createVerification(call.state, call.organization, input)
  },
  listVerifications(call) {
    const { state, organization } = call
    const { page, limit, ...query } = checkedQuery(endpoints.listVerifications.query, call)
    const rows = selected(state.verifications, organization.id, selectVerifications(query))
    return pageOf(rows, { page, limit })
  },
  getVerification({ state, organization, id }) {
    const row = state.verifications.get(id)
    if (row?.resource.orgId !== organization.id) throw notFound('Verification')
    return assemble(row)
  },
  async createClient(call) {
    const input = await checkedBody(endpoints.createClient.body, call)
    return createClientRecord(call.state, call.organization, input)
  },
  listClients(call) {
    const { state, organization } = call
    const { page, limit, ...query } = checkedQuery(endpoints.listClients.query, call)
    const rows = selected(state.clients, organization.id, selectClients(query))
    return pageOf(rows, { page, limit })
  },
  getClient({ state, organization, id }) {
    const row = state.clients.get(id)
    if (row?.resource.orgId !== organization.id) throw notFound('Client')
    return row.resource
  },
}

async function checkedBody<Output>(
  schema: Schema<Output> & Shaped,
  { request, unknown }: EndpointCall,
): Promise<Output> {
  const content = await jsonBody(request)
  const body = content === undefined ? {} : content
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new HttpError(400, 'The request body must be a JSON object')
  }
  const input = checked(schema, body, 'request body')
  unknown.push(...Object.keys(body).filter((name) => !Object.hasOwn(schema.shape, name)))
  return input
}

interface Shaped {
  readonly shape: object
}

/** Query parameters are text: numbers are read as such, lists at their commas. */
function checkedQuery<Output>(
  schema: Schema<Output> & Shaped,
  { request, unknown }: EndpointCall,
): Output {
  const values: Record<string, unknown> = Object.create(null)
  const twice = new Set<string>()
  for (const [name, text] of new URL(request.url).searchParams) {
    if (name === 'status') {
      const before = (values.status ?? []) as readonly string[]
      values.status = [...before, ...text.split(',').map((one) => one.trim())]
    } else if (name in values) twice.add(name)
    else if (name === 'page' || name === 'limit') values[name] = numberIn(text)
    else values[name] = text
  }
  const known = checked(schema, values, 'query')
  unknown.push(...Object.keys(values).filter((name) => !Object.hasOwn(schema.shape, name)))
  const repeated = [...twice].filter((name) => Object.hasOwn(known as object, name))
  if (repeated.length === 0) return known
  throw invalidFields(
    repeated.map((field) => ({ field, message: 'is given more than once' })),
    'query',
  )
}

/** A decimal number; other text stays text, and its schema refuses it. */
function numberIn(text: string): number | string {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** Names the ignored fields in a header; the service itself ignores them in silence. */
function warningOf(unknown: readonly string[]): Readonly<Record<string, string>> {
  if (unknown.length === 0) return {}
  const names = unknown
    .slice(0, 10)
    .map((name) => encodeURIComponent(name.slice(0, 64).toWellFormed()))
  const fields = unknown.length === 1 ? 'field' : 'fields'
  return { 'sandbox-warning': `unknown ${fields} ${names.join(', ')}` }
}

export interface ApiOptions {
  readonly state: State
  /** Returns the organization of a request, or throws the error that answers it. */
  readonly authenticate: (request: Request) => Organization
}

/** The router of the API, its paths relative to `apiPath`. */
export function createApi({ state, authenticate }: ApiOptions): Hono {
  const names = Object.keys(endpoints) as EndpointName[]
  const routes = names.flatMap((name) => {
    const { method, path, status } = endpoints[name]
    const answer = async ({ req }: Context) => {
      const request = req.raw
      const organization = authenticate(request)
      const id = req.param('id') ?? ''
      const unknown: string[] = []
      const body = await answers[name]({ state, organization, request, id, unknown })
      return Response.json(body, { status, headers: warningOf(unknown) })
    }
    const legacy = legacyPaths[path]
    return [path, ...(legacy ? [legacy] : [])].map((one) => ({ method, path: one, answer }))
  })
  return mount(new Hono(), routes)
}
