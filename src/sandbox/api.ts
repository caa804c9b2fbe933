// The service's HTTP API under `/v2/api` (sections 4 and 9): a router over the contract's table,
// with the legacy paths beside the canonical ones. Each look-up is bound to the caller's organization.
import { Hono } from 'hono'
import { endpoints } from '../client/contract.ts'
import { assemble } from './assemble.ts'
import { createClientRecord } from './clients.ts'
import { checked, jsonBody, type Schema } from './exchange.ts'
import { HttpError, invalid, methodNotAllowed, notFound } from './http-error.ts'
import { legacyPaths } from './legacy-paths.ts'
import type { Organization } from './organizations.ts'
import { selectClients, selectVerifications } from './selections.ts'
import type { World } from './state.ts'
import { createVerification } from './verifications.ts'

/** The path of the API, with the version that section 9 speaks of. */
export const apiPath = '/v2/api'

type EndpointName = keyof typeof endpoints

interface Call {
  readonly world: World
  readonly organization: Organization
  readonly request: Request
  /** The path's id; empty where it has none. */
  readonly id: string
}

type Answer = (call: Call) => unknown

/** What each endpoint does, by the contract's names. */
const answers: Readonly<Record<EndpointName, Answer>> = {
  async createVerification({ world, organization, request }) {
    const input = await checkedBody(endpoints.createVerification.body, request)
    return createVerification(world, organization, input)
  },
  listVerifications({ world, organization, request }) {
    const { page, limit, ...query } = checkedQuery(endpoints.listVerifications.query, request)
    const selection = selectVerifications(query)
    const found = world.verifications.page(organization.id, selection, { page, limit })
    return { data: found.rows.map(({ resource }) => resource), pagination: found.pagination }
  },
  getVerification({ world, organization, id }) {
    const row = world.verifications.get(id)
    if (row?.resource.orgId !== organization.id) throw notFound('Verification')
    return assemble(row)
  },
  async createClient({ world, organization, request }) {
    const input = await checkedBody(endpoints.createClient.body, request)
    return createClientRecord(world, organization, input)
  },
  listClients({ world, organization, request }) {
    const { page, limit, ...query } = checkedQuery(endpoints.listClients.query, request)
    const found = world.clients.page(organization.id, selectClients(query), { page, limit })
    return { data: found.rows.map(({ resource }) => resource), pagination: found.pagination }
  },
  getClient({ world, organization, id }) {
    const row = world.clients.get(id)
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
  const values: Record<string, unknown> = Object.create(null)
  const twice = new Set<string>()
  const at = request.url.indexOf('?')
  if (at >= 0) {
    for (const [name, text] of new URLSearchParams(request.url.slice(at))) {
      if (name === 'status') {
        const before = (values.status ?? []) as readonly string[]
        values.status = [...before, ...text.split(',').map((one) => one.trim())]
      } else if (name in values) twice.add(name)
      else if (name === 'page' || name === 'limit') values[name] = numberIn(text)
      else values[name] = text
    }
  }
  const known = checked(schema, values, 'query')
  const repeated = [...twice].filter((name) => Object.hasOwn(known as object, name))
  if (repeated.length === 0) return known
  throw invalid(
    repeated.map((field) => ({ field, message: 'is given more than once' })),
    'query',
  )
}

/** A number as it is spelled; what is none stays text, and is refused as such. */
function numberIn(text: string): number | string {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** What stands before and after each answer. */
export interface ApiParts {
  readonly world: World
  /** Lets a request in as its organization, or throws its refusal. */
  readonly admit: (request: Request) => Organization | Promise<Organization>
}

/** The router of the API, its paths relative to `apiPath`. */
export function createApi(parts: ApiParts): Hono {
  const app = new Hono()
  const methods = new Map<string, string[]>()
  const mount = (name: EndpointName, path: string) => {
    const { method, status } = endpoints[name]
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    methods.set(pattern, [...(methods.get(pattern) ?? []), method])
    app.on(method, pattern, async (context) => {
      const request = context.req.raw
      const organization = await parts.admit(request)
      const id = context.req.param('id') ?? ''
      const body = await answers[name]({ world: parts.world, organization, request, id })
      return Response.json(body, { status })
    })
  }
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { path } = endpoints[name]
    const legacy = legacyPaths[path]
    mount(name, path)
    if (legacy) mount(name, legacy)
  }
  for (const [pattern, allow] of methods) {
    app.all(pattern, () => methodNotAllowed(allow).toResponse())
  }
  return app
}
