// The events that Lambda is invoked with for one request, in the shape of each integration, as AWS
// documents them.
import type { HttpEvent } from 'idv-webhooks/lambda'

export interface Request {
  readonly method: string
  readonly path: string
  /** As sent, without the question mark. */
  readonly query?: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: Uint8Array
  readonly sourceIp?: string
  /** Whether the integration treats the content as binary. */
  readonly binary?: boolean
}

const sourceOf = (request: Request) => request.sourceIp ?? '198.51.100.7'

function contentOf({ body, binary = false }: Request) {
  if (!body || body.length === 0) return { isBase64Encoded: false }
  const text = Buffer.from(body).toString(binary ? 'base64' : 'utf8')
  return { body: text, isBase64Encoded: binary }
}

/** All values of each header; `toName` is how the integration spells it. */
function valuesOf(headers: Request['headers'], toName = (name: string) => name) {
  const all: Record<string, string[]> = {}
  for (const [name, value] of headers) {
    const key = toName(name)
    all[key] = [...(all[key] ?? []), value]
  }
  return all
}

const each = <From, To>(values: Record<string, From>, change: (value: From) => To) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))
const lastOf = (values: Record<string, string[]>) => each(values, (all) => all.at(-1) ?? '')
const lower = (name: string) => name.toLowerCase()

const parametersOf = (query: string | undefined, decoded: boolean) => {
  const pairs = decoded
    ? [...new URLSearchParams(query)]
    : (query ?? '').split('&').map((pair) => pair.split('=') as [string, string])
  return query ? valuesOf(pairs) : undefined
}

/** HTTP API and function URL (payload format 2.0): one value a name, in lower case. */
export function httpApi(request: Request): HttpEvent {
  const { method, path, query = '', headers } = request
  return {
    ...{ version: '2.0', routeKey: '$default' },
    rawPath: path,
    rawQueryString: query,
    headers: each(valuesOf(headers, lower), (all) => all.join(',')),
    requestContext: {
      ...{ accountId: '123456789012', apiId: 'api', stage: '$default', requestId: 'id' },
      domainName: 'api.execute-api.eu-west-1.amazonaws.com',
      http: {
        ...{ path, protocol: 'HTTP/1.1', userAgent: 'agent' },
        method,
        sourceIp: sourceOf(request),
      },
    },
    ...contentOf(request),
  }
}

/** REST API (payload format 1.0): the stage stands in the context's path alone. */
export function restApi(request: Request): HttpEvent {
  const { method, path, query, headers } = request
  const parameters = parametersOf(query, true)
  const { body = null, isBase64Encoded } = contentOf(request)
  return {
    ...{ resource: '/{proxy+}', pathParameters: { proxy: path.slice(1) }, stageVariables: null },
    httpMethod: method,
    path,
    headers: lastOf(valuesOf(headers)),
    multiValueHeaders: valuesOf(headers),
    queryStringParameters: parameters ? lastOf(parameters) : null,
    multiValueQueryStringParameters: parameters ?? null,
    requestContext: {
      ...{ accountId: '123456789012', apiId: 'api', stage: 'prod', httpMethod: method },
      path: `/prod${path}`,
      domainName: 'api.execute-api.eu-west-1.amazonaws.com',
      identity: { ...{ userAgent: 'agent', accessKey: null }, sourceIp: sourceOf(request) },
    },
    body,
    isBase64Encoded,
  }
}

/** An ALB: names in lower case, parameters as they arrived, an empty body as an empty text. */
export function loadBalancer(request: Request, isMultiValue = false): HttpEvent {
  const { method, path, query } = request
  const headers = [...request.headers, ['x-forwarded-for', sourceOf(request)] as const]
  const values = valuesOf(headers, lower)
  const parameters = parametersOf(query, false) ?? {}
  const arn = 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/lambda/1'
  return {
    requestContext: { elb: { targetGroupArn: arn } },
    httpMethod: method,
    path,
    ...(isMultiValue
      ? { multiValueHeaders: values, multiValueQueryStringParameters: parameters }
      : { headers: lastOf(values), queryStringParameters: lastOf(parameters) }),
    body: '',
    ...contentOf(request),
  }
}

export const integrations: readonly [name: string, toEvent: (request: Request) => HttpEvent][] = [
  ['an HTTP API or a function URL', httpApi],
  ['a REST API', restApi],
  ['an ALB', (request) => loadBalancer(request)],
  ['an ALB with multi-value headers', (request) => loadBalancer(request, true)],
]
