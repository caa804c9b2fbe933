// OpenAPI 3.1 of the API and of the control plane, from the same tables that drive their routers.
import { createDocument, type ZodOpenApiOperationObject } from 'zod-openapi'
import { endpoints } from '../client/contract.ts'
import { errorBodySchema, errorCodes } from '../protocol/resources.ts'
import { type ControlRoute, controlRoutes } from './schemas/control-routes.ts'

type Paths = Record<string, Record<string, ZodOpenApiOperationObject>>
type Schema = typeof errorBodySchema | ControlRoute['response']

const json = (schema: Schema) => ({ 'application/json': { schema } })

/** The document of `/v2/api` (sections 4 to 9); the legacy paths are marked deprecated. */
export function apiDocument(legacyPaths: Readonly<Record<string, string>>, url: string) {
  const paths: Paths = {}
  for (const [name, endpoint] of Object.entries(endpoints)) {
    add(paths, endpoint.path, endpoint.method, apiOperation(name, endpoint))
    const legacy = legacyPaths[endpoint.path]
    if (!legacy) continue
    const operation = apiOperation(`${name}Legacy`, endpoint)
    add(paths, legacy, endpoint.method, { ...operation, deprecated: true })
  }
  return createDocument({
    openapi: '3.1.0',
    info: { title: 'Identity Verification Service API', version: '2.0.0' },
    servers: [{ url }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } },
    },
  })
}

type Endpoint = (typeof endpoints)[keyof typeof endpoints]

function apiOperation(name: string, endpoint: Endpoint): ZodOpenApiOperationObject {
  const { status, response, path } = endpoint
  const query = 'query' in endpoint ? endpoint.query : undefined
  const codes: Readonly<Record<number, string>> = errorCodes
  const refusals = statusesOf(endpoint).map((code) => [
    String(code),
    {
      description: codes[code] ?? 'Refused',
      content: json(errorBodySchema),
      ...(code === 429 && { headers: rateHeaders }),
    },
  ])
  return {
    operationId: name,
    parameters: path.includes('{id}') ? [pathId] : [],
    ...(query && { requestParams: { query } }),
    ...('body' in endpoint && {
      requestBody: { required: true, content: json(endpoint.body) },
    }),
    responses: {
      [String(status)]: { description: 'Success', content: json(response) },
      ...Object.fromEntries(refusals),
    },
  }
}

/** Those of the document, and those that the sandbox assumes beyond it. */
function statusesOf(endpoint: Endpoint): readonly number[] {
  const assumed = [
    402,
    403,
    ...('body' in endpoint ? [400, 413] : 'query' in endpoint ? [422] : []),
  ]
  return [...new Set([...endpoint.errors, ...assumed])].toSorted((one, other) => one - other)
}

const pathId = {
  name: 'id',
  in: 'path',
  required: true,
  schema: { type: 'string' },
} as const

const integer = { schema: { type: 'integer' } } as const
const rateHeaders = {
  'Retry-After': integer,
  'X-RateLimit-Limit': integer,
  'X-RateLimit-Remaining': integer,
} as const

/** The document of `/_sandbox`. */
export function controlDocument(url: string) {
  const paths: Paths = {}
  for (const [name, route] of Object.entries<ControlRoute>(controlRoutes)) {
    add(paths, route.path, route.method, controlOperation(name, route))
  }
  paths['/events'] = {
    get: {
      operationId: 'watch',
      summary: 'What happens, as it happens',
      responses: {
        '200': { description: 'Server-sent events', content: { 'text/event-stream': {} } },
      },
    },
  }
  return createDocument({
    openapi: '3.1.0',
    info: { title: 'Sandbox control plane', version: '1.0.0' },
    servers: [{ url }],
    paths,
  })
}

function controlOperation(name: string, route: ControlRoute): ZodOpenApiOperationObject {
  const { summary, params, query, body, bodyOptional, status, response } = route
  return {
    operationId: name,
    summary,
    requestParams: { ...(params && { path: params }), ...(query && { query }) },
    ...(body && { requestBody: { required: !bodyOptional, content: json(body) } }),
    responses: {
      [String(status)]: { description: 'Success', content: json(response) },
      default: { description: 'Refused', content: json(errorBodySchema) },
    },
  }
}

function add(
  paths: Paths,
  path: string,
  method: string,
  operation: ZodOpenApiOperationObject,
): void {
  paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
}
