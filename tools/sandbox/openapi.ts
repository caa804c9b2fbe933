// OpenAPI 3.1 of the API with its webhooks, from the endpoints that the sandbox serves.
import type { EndpointName } from '../../src/client/api-error.ts'
import { endpoints } from '../../src/client/contract.ts'
import { defined } from '../../src/foundation/defined.ts'
import { errorBodySchema, validationErrorSchema } from '../../src/protocol/api-schemas.ts'
import { type EventName, eventNames } from '../../src/protocol/names.ts'
import { HttpError } from './http-error.ts'
import { apiPath, legacyPaths } from './paths.ts'
import { componentSchemas, eventSchema, jsonSchema, queryParameters } from './schemas/api.ts'
import type { Documented } from './schemas/control.ts'

type DocumentPaths = Record<string, Record<string, object>>

const summaries: Readonly<Record<EndpointName, string>> = {
  createVerification: 'Create a verification; the event verification.created follows',
  listVerifications: 'List verifications: filtered, sorted and paginated, newest first by default',
  getVerification: 'Get a verification with its score, step data and audit trail',
  createClient: 'Create a client; the event client.created follows',
  listClients: 'List clients: filtered, sorted and paginated',
  getClient: 'Get a client; soft-deleted clients stay readable',
}

const header = (type: string, description: string) => ({ schema: { type }, description })
const headersOf: Readonly<Record<number, object>> = {
  405: { Allow: header('string', 'The methods of the path') },
  429: {
    'Retry-After': header('integer', 'Seconds until the rate limit window resets'),
    'X-RateLimit-Limit': header('integer', 'Requests that the window allows'),
    'X-RateLimit-Remaining': header('integer', 'Requests left in the window'),
  },
}
const deprecationHeaders = {
  Deprecation: header('string', 'RFC 9745: the path is deprecated since this time'),
  Link: header('string', 'RFC 8288: the canonical path, as successor-version'),
}

const json = (schema: Documented) => ({ 'application/json': { schema: jsonSchema(schema) } })
const answer = (description: string, schema: Documented) => ({
  description,
  content: json(schema),
})
const resourceId = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }

const parameters = (path: string, query: Documented | undefined) => [
  ...(path.includes('{id}') ? [resourceId] : []),
  ...queryParameters(query),
]

/** The document of `/v2/api` (sections 4 to 9); the legacy paths are marked as deprecated. */
export function apiDocument(origin: string): object {
  const paths: DocumentPaths = {}
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { path, method } = endpoints[name]
    for (const one of [path, legacyPaths[path]]) {
      if (one !== undefined) add(paths, { path: one, method }, operation(name, one))
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Identity Verification Service API',
      version: '2.0.0',
      description:
        'Verifications and client records, and the events that the service sends about them. Served by the sandbox of idv-webhooks; what the service’s document leaves open is listed at /_sandbox/assumptions.',
    },
    servers: [{ url: `${origin}${apiPath}` }],
    security: [{ apiKey: [] }],
    tags: [{ name: 'verifications' }, { name: 'clients' }, { name: 'events' }],
    paths,
    webhooks: Object.fromEntries(eventNames.map((name) => [name, { post: webhook(name) }])),
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Api-Key',
          description: 'The organization’s API key.',
        },
      },
    },
  }
}

function add(
  paths: DocumentPaths,
  { path, method }: { readonly path: string; readonly method: string },
  operation: object,
): void {
  paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
}

/** An endpoint on its canonical or its legacy path. */
function operation(name: EndpointName, path: string): object {
  const endpoint = endpoints[name]
  const deprecated = path !== endpoint.path
  const marks = deprecated ? deprecationHeaders : {}
  const refusals = statusesOf(name).map((status) => [status, refusal(status, marks)])
  return defined({
    operationId: deprecated ? `${name}Legacy` : name,
    deprecated: deprecated || undefined,
    tags: [endpoint.path.startsWith('/clients') ? 'clients' : 'verifications'],
    summary: summaries[name],
    parameters: parameters(path, 'query' in endpoint ? endpoint.query : undefined),
    requestBody:
      'body' in endpoint
        ? // No field of a client is required, so its body may be left out (section 4.4).
          { required: name !== 'createClient', content: json(endpoint.body) }
        : undefined,
    responses: {
      [endpoint.status]: { ...answer('Success', endpoint.response), headers: marks },
      ...Object.fromEntries(refusals),
    },
  })
}

/** The statuses of the service's document, and the sandbox's further ones. */
function statusesOf(name: EndpointName): readonly number[] {
  const endpoint = endpoints[name]
  const assumed = 'body' in endpoint ? [400, 413] : 'query' in endpoint ? [422] : []
  return [...new Set([...endpoint.errors, ...assumed, 402, 403, 405])]
}

function refusal(status: number, marks: object): object {
  const { code } = new HttpError(status, '').body
  const schema = status === 422 ? validationErrorSchema : errorBodySchema
  return { ...answer(code, schema), headers: { ...headersOf[status], ...marks } }
}

function webhook(name: EventName): object {
  return {
    operationId: name,
    tags: ['events'],
    summary: `The event ${name}`,
    security: [],
    parameters: [
      {
        name: 'X-Service-Signature',
        in: 'header',
        required: true,
        description: 'HMAC-SHA256 over the exact bytes of the body, in lower-case hex.',
        schema: { type: 'string' },
      },
    ],
    requestBody: { required: true, content: json(eventSchema(name)) },
    responses: { '2XX': { description: 'Received; any other answer is tried again' } },
  }
}
