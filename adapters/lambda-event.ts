// Reads the events of HTTP requests that Lambda is invoked with. Typed structurally, so that no AWS
// package is needed. Not an import path.
import type { BodyFault, Incoming } from '../src/index.ts'
import { addressOf } from './address.ts'

type HeaderValues<Value> = Readonly<Record<string, Value | undefined>> | null | undefined

/** Fields shared by events of API Gateway (formats 1.0 and 2.0), ALBs and function URLs. */
export interface HttpEvent {
  readonly httpMethod?: string | undefined
  readonly path?: string | undefined
  readonly rawPath?: string | undefined
  readonly rawQueryString?: string | undefined
  readonly headers?: HeaderValues<string>
  readonly multiValueHeaders?: HeaderValues<readonly string[]>
  readonly queryStringParameters?: HeaderValues<string>
  readonly multiValueQueryStringParameters?: HeaderValues<readonly string[]>
  readonly body?: string | null | undefined
  readonly isBase64Encoded?: boolean | undefined
  readonly requestContext?:
    | {
        readonly http?: { readonly method: string; readonly sourceIp: string } | undefined
        readonly identity?: { readonly sourceIp: string } | undefined
        readonly elb?: unknown
        /** The path with the stage, which `path` lacks. */
        readonly path?: string | undefined
        readonly domainName?: string | undefined
      }
    | undefined
}

/** The request of an event; undefined if the event is not an HTTP event. */
export function readEvent(event: HttpEvent): Incoming | undefined {
  const { http, identity } = event?.requestContext ?? {}
  const method = http?.method ?? event?.httpMethod
  if (typeof method !== 'string') return undefined
  const headers = pairsOf(event.headers, event.multiValueHeaders)
  return {
    method,
    url: urlOf(event, headers),
    headers,
    address: http?.sourceIp ?? identity?.sourceIp,
    read: async () => bytesOf(event),
  }
}

/** Each occurrence by itself, if the event lists occurrences. */
function pairsOf(joined: HttpEvent['headers'], apart: HttpEvent['multiValueHeaders']) {
  const pairs: [name: string, value: string][] = []
  // Events of tests often have it empty.
  const given = Object.keys(apart ?? {}).length > 0 ? apart : joined
  for (const [name, values] of Object.entries(given ?? {})) {
    for (const value of typeof values === 'string' ? [values] : (values ?? [])) {
      pairs.push([name, value])
    }
  }
  return pairs
}

function bytesOf({ body, isBase64Encoded }: HttpEvent): Uint8Array | BodyFault {
  const given: unknown = body ?? ''
  if (typeof given === 'string') return Buffer.from(given, isBase64Encoded ? 'base64' : 'utf8')
  // A test may pass bytes, and a middleware such as middy's may have parsed them.
  const message = ArrayBuffer.isView(given)
    ? `the body of a Lambda event is text, got ${given.constructor.name}: pass new TextDecoder().decode(body), or base64 with isBase64Encoded: true`
    : `the body was parsed before the receiver, got ${typeof given}: remove the body parser from this function, e.g. httpJsonBodyParser() of middy`
  return { code: 'BODY_CONSUMED', message }
}

function urlOf(event: HttpEvent, headers: readonly (readonly [string, string])[]): string {
  const headerOf = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
  const { requestContext } = event
  const host = headerOf('host') ?? requestContext?.domainName
  const forwarded = headerOf('x-forwarded-proto')
  const path = event.rawPath ?? requestContext?.path ?? event.path ?? ''
  const query = event.rawQueryString ?? queryOf(event)
  return addressOf({ forwarded, scheme: 'https', host, path: `${path}${query && `?${query}`}` })
}

/** An ALB hands parameters on as they arrived; API Gateway has decoded them. */
function queryOf(event: HttpEvent): string {
  const { multiValueQueryStringParameters, queryStringParameters, requestContext } = event
  const pairs = pairsOf(queryStringParameters, multiValueQueryStringParameters)
  if (!requestContext?.elb) return new URLSearchParams(pairs).toString()
  return pairs.map(([name, value]) => `${name}=${value}`).join('&')
}
