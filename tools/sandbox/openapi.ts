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

const json = (schema: Documented) => ({
  content: { 'application/json': { schema: jsonSchema(schema) } },
})
const text = { type: 'string' }

/** The document of `/v2/api` (sections 4 to 9); the legacy paths are marked as deprecated. */
export function apiDocument(origin: string): object {
  const paths: Record<string, object> = {}
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { path, method } = endpoints[name]
    for (const one of [path, legacyPaths[path] ?? path]) {
      paths[one] = { ...paths[one], [method.toLowerCase()]: operation(name, one) }
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Identity Verification Service API', version: '2.0.0' },
    servers: [{ url: `${origin}${apiPath}` }],
    security: [{ apiKey: [] }],
    paths,
    webhooks: Object.fromEntries(eventNames.map((name) => [name, { post: webhook(name) }])),
    components: {
      schemas: componentSchemas(),
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } },
    },
  }
}

function operation(name: EndpointName, path: string): object {
  const endpoint = endpoints[name]
  const deprecated = path !== endpoint.path
  const id = { name: 'id', in: 'path', required: true, schema: text }
  const query = 'query' in endpoint ? queryParameters(endpoint.query) : []
  // No field of a client is required, so its body may be left out (section 4.4).
  const required = name !== 'createClient'
  const refusals = endpoint.errors.map((status) => {
    const schema = status === 422 ? validationErrorSchema : errorBodySchema
    return [status, { description: new HttpError(status, '').body.code, ...json(schema) }]
  })
  return defined({
    operationId: deprecated ? `${name}Legacy` : name,
    deprecated: deprecated || undefined,
    parameters: path.includes('{id}') ? [id] : query,
    requestBody: 'body' in endpoint ? { required, ...json(endpoint.body) } : undefined,
    responses: {
      [endpoint.status]: { description: 'Success', ...json(endpoint.response) },
      ...Object.fromEntries(refusals),
    },
  })
}

function webhook(name: EventName): object {
  return {
    operationId: name,
    security: [],
    parameters: [{ name: 'X-Service-Signature', in: 'header', required: true, schema: text }],
    requestBody: { required: true, ...json(eventSchema(name)) },
    responses: { '2XX': { description: 'Received; any other answer is tried again' } },
  }
}
