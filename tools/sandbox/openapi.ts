// OpenAPI 3.1 of the API with its webhooks, and of the control plane, from the same tables that drive
// their routers.
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi'
import { endpoints } from '../../src/client/contract.ts'
import { defined } from '../../src/foundation/defined.ts'
import { eventNames } from '../../src/protocol/names.ts'
import { errorBodySchema, errorCodes } from '../../src/protocol/resources.ts'
import {
  apiDescriptions,
  endpointDescriptions,
  errorDescriptions,
  eventDescriptions,
} from './openapi-texts.ts'
import { apiComponents, eventSchema, validationErrorSchema } from './schemas/api-components.ts'
import { type ControlRoute, controlRoutes } from './schemas/control-routes.ts'

type Paths = Record<string, Record<string, ZodOpenApiOperationObject>>
const json = (schema: ControlRoute['response']) => ({ 'application/json': { schema } })

/** The document of `/v2/api` (sections 4 to 9); the legacy paths are marked deprecated. */
export function apiDocument(legacyPaths: Readonly<Record<string, string>>, url: string) {
  const paths: Paths = {}
  for (const name of Object.keys(endpoints) as Endpoint[]) {
    const { path, method } = endpoints[name]
    const legacy = legacyPaths[path]
    add(paths, { path, method }, apiOperation(name))
    if (legacy) add(paths, { path: legacy, method }, deprecated(apiOperation(name)))
  }
  const document = createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Identity Verification Service API',
      version: '2.0.0',
      description: apiDescriptions.info,
    },
    servers: [{ url }],
    security: [{ apiKey: [] }],
    tags: [{ name: 'verifications' }, { name: 'clients' }, { name: 'events' }],
    paths,
    webhooks: Object.fromEntries(eventNames.map((name) => [name, { post: webhook(name) }])),
    components: {
      schemas: apiComponents,
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Api-Key',
          description: apiDescriptions.key,
        },
      },
    },
  })
  return described(document)
}

type Endpoint = keyof typeof endpoints

function apiOperation(name: Endpoint): ZodOpenApiOperationObject {
  const endpoint = endpoints[name]
  const { status, response, path } = endpoint
  const responses: ZodOpenApiResponsesObject = {
    [`${status}`]: { description: 'Success', content: json(response) },
  }
  for (const code of statusesOf(name)) responses[`${code as 400}`] = refusal(code)
  return defined({
    operationId: name,
    tags: [path.startsWith('/clients') ? 'clients' : 'verifications'],
    ...endpointDescriptions[name],
    parameters: path.includes('{id}') ? [pathId] : [],
    requestParams: 'query' in endpoint ? { query: endpoint.query } : undefined,
    requestBody:
      'body' in endpoint
        ? // No field of a client is required, so its body may be left out (section 4.4).
          { required: name !== 'createClient', content: json(endpoint.body) }
        : undefined,
    responses,
  })
}

function refusal(code: number): ZodOpenApiResponseObject {
  const codes: Readonly<Record<number, string>> = errorCodes
  const name = codes[code]
  return defined({
    description: [name, errorDescriptions[code]].filter(Boolean).join(': '),
    content: json(code === 422 ? validationErrorSchema : errorBodySchema),
    headers: code === 429 ? rateHeaders : code === 405 ? { Allow: text } : undefined,
  })
}

/** Those of the document, and those that the sandbox assumes beyond it. */
function statusesOf(name: Endpoint): readonly number[] {
  const endpoint = endpoints[name]
  const assumed = 'body' in endpoint ? [400, 413] : 'query' in endpoint ? [422] : []
  const all = new Set([...endpoint.errors, ...assumed, 402, 403, 405])
  return [...all].toSorted((one, other) => one - other)
}

/** Section 9, and the headers that every answer on a legacy path has. */
function deprecated(operation: ZodOpenApiOperationObject): ZodOpenApiOperationObject {
  const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => {
    const { headers, ...rest } = response as ZodOpenApiResponseObject
    return [status, { ...rest, headers: { ...headers, ...deprecationHeaders } }]
  })
  return {
    ...operation,
    operationId: `${operation.operationId}Legacy`,
    deprecated: true,
    responses: Object.fromEntries(responses),
  }
}

function webhook(name: (typeof eventNames)[number]): ZodOpenApiOperationObject {
  return {
    operationId: name,
    tags: ['events'],
    summary: eventDescriptions[name],
    security: [],
    parameters: [
      {
        name: 'X-Service-Signature',
        in: 'header',
        required: true,
        description: apiDescriptions.signature,
        schema: { type: 'string' },
      },
    ],
    requestBody: { required: true, content: json(eventSchema(name)) },
    responses: { '2XX': { description: 'Received; any other answer is tried again' } },
  }
}

const pathId = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The resource’s id',
  schema: { type: 'string' },
} as const

const text = { schema: { type: 'string' } } as const
const integer = { schema: { type: 'integer' } } as const
const rateHeaders = {
  'Retry-After': { ...integer, description: 'Seconds until the rate limit window resets' },
  'X-RateLimit-Limit': { ...integer, description: 'Requests that the window allows' },
  'X-RateLimit-Remaining': { ...integer, description: 'Requests left in the window' },
}
const deprecationHeaders = {
  Deprecation: { ...text, description: 'RFC 9745: the path is deprecated since this time' },
  Link: { ...text, description: 'RFC 8288: the canonical path, as successor-version' },
}

type Document = ReturnType<typeof createDocument>

/** Adds a description to each component and to the fields whose name does not say enough. */
function described(document: Document): Document {
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
    if (typeof schema !== 'object') continue
    const { description, ...fields } = apiDescriptions.schemas[name.replace(/Output$/, '')] ?? {}
    if (description !== undefined) Object.assign(schema, { description })
    for (const [field, words] of Object.entries(fields)) {
      const property = 'properties' in schema ? schema.properties?.[field] : undefined
      if (typeof property === 'object') Object.assign(property, { description: words })
    }
  }
  return document
}

/** The document of the control plane. */
export function controlDocument(url: string) {
  const paths: Paths = {}
  for (const [name, route] of Object.entries<ControlRoute>(controlRoutes)) {
    add(paths, route, controlOperation(name, route))
  }
  paths['/events'] = {
    get: {
      operationId: 'watch',
      summary: 'What happens, as it happens; resumable by Last-Event-ID',
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
    components: { schemas: apiComponents },
  })
}

function controlOperation(name: string, route: ControlRoute): ZodOpenApiOperationObject {
  const { summary, params, query, body, bodyOptional, status = 200, response } = route
  return defined({
    operationId: name,
    summary,
    requestParams: defined({ path: params, query }),
    requestBody: body && { required: !bodyOptional, content: json(body) },
    responses: {
      [String(status)]: { description: 'Success', content: json(response) },
      default: { description: 'Refused', content: json(errorBodySchema) },
    },
  })
}

function add(
  paths: Paths,
  { path, method }: { readonly path: string; readonly method: string },
  operation: ZodOpenApiOperationObject,
): void {
  paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
}
