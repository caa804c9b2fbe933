// The service's HTTP API under `/v2/api` (sections 4 and 9): a router over the contract's table,
// with the legacy paths beside the canonical ones. Each look-up is bound to the caller's organization.
import { type Context, Hono } from 'hono'
import type { EndpointName } from '../../src/client/api-error.ts'
import { endpoints } from '../../src/client/contract.ts'
import { createClientRecord } from './clients.ts'
import { checked, jsonBody, mount } from './exchange.ts'
import { HttpError, notFound } from './http-error.ts'
import { legacyPaths } from './paths.ts'
import type { Schema } from './schemas/control.ts'
import type { Organization } from './schemas/snapshot.ts'
import { pageOf, selected } from './selections.ts'
import type { State } from './state.ts'
import { assemble, createVerification } from './verifications.ts'

interface EndpointCall {
  readonly state: State
  readonly organization: Organization
  readonly request: Request
  /** The id in the path; empty if the path has none. */
  readonly id: string
}

const answers: Readonly<Record<EndpointName, (call: EndpointCall) => unknown>> = {
  async createVerification({ state, organization, request }) {
    const input = await checkedBody(endpoints.createVerification.body, request)
    return createVerification(state, organization, input)
  },
  listVerifications({ state, organization, request }) {
    const query = checkedQuery(endpoints.listVerifications.query, request)
    return pageOf(selected(state.verifications, organization.id, query), query)
  },
  getVerification({ state, organization, id }) {
    const row = state.verifications.get(id)
    if (row?.resource.orgId !== organization.id) throw notFound('Verification')
    return assemble(row)
  },
  async createClient({ state, organization, request }) {
    const input = await checkedBody(endpoints.createClient.body, request)
    return createClientRecord(state, organization, input)
  },
  listClients({ state, organization, request }) {
    const query = checkedQuery(endpoints.listClients.query, request)
    return pageOf(selected(state.clients, organization.id, query), query)
  },
  getClient({ state, organization, id }) {
    const row = state.clients.get(id)
    if (row?.resource.orgId !== organization.id) throw notFound('Client')
    return row.resource
  },
}

async function checkedBody<Output>(schema: Schema<Output>, request: Request): Promise<Output> {
  const content = await jsonBody(request)
  const body = content === undefined ? {} : content
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new HttpError(400, 'The request body must be a JSON object')
  }
  return checked(schema, body, 'request body')
}

/** Query parameters are text: numbers are read as such, lists at their commas. */
function checkedQuery<Output>(schema: Schema<Output>, request: Request): Output {
  const { searchParams } = new URL(request.url)
  const values: Record<string, unknown> = Object.fromEntries(searchParams)
  if (searchParams.has('status')) {
    values.status = searchParams.getAll('status').flatMap((list) => list.split(/ *, */))
  }
  for (const name of ['page', 'limit']) {
    const text = searchParams.get(name)
    // Other text stays text, and its schema refuses it.
    if (text !== null && /^-?\d+(\.\d+)?$/.test(text)) values[name] = Number(text)
  }
  return checked(schema, values, 'query')
}

/** `authenticate` returns the organization of a request, or throws the error that answers it. */
export function createApi(state: State, authenticate: (request: Request) => Organization): Hono {
  const names = Object.keys(endpoints) as EndpointName[]
  const routes = names.flatMap((name) => {
    const { method, path, status } = endpoints[name]
    const answer = async ({ req }: Context) => {
      const organization = authenticate(req.raw)
      const call = { state, organization, request: req.raw, id: req.param('id') ?? '' }
      return Response.json(await answers[name](call), { status })
    }
    const legacy = legacyPaths[path]
    return [path, ...(legacy ? [legacy] : [])].map((one) => ({ method, path: one, answer }))
  })
  return mount(new Hono(), routes)
}
