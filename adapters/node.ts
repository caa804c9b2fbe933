// node:http, and Koa or Nest over it. The only room that knows raw-body.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import getRawBody, { type RawBodyError } from 'raw-body'
import type { BodyFault, Incoming, Receiver, Reply } from '../src/index.ts'
import { checkReceiver } from './fetch.ts'

/** The part of a receiver that adapters use. */
export type HandlesRequests = Pick<Receiver, 'handle'>

/** A request on which a framework may have left what it read. */
export type NodeRequest = IncomingMessage & {
  readonly originalUrl?: string
  readonly body?: unknown
  readonly rawBody?: unknown
}

const fix =
  'the body was read before the receiver: hand it the untouched request, before any body parser (Koa: mount it before koa-body and pass ctx.req; Nest: NestFactory.create(App, { bodyParser: false }))'

/** A listener for `http.createServer`; methods other than POST are answered with 405. */
export function toNode(receiver: HandlesRequests) {
  checkReceiver('toNode', receiver)
  return async (request: NodeRequest, response: ServerResponse): Promise<void> => {
    send(request, response, await receiver.handle(toIncoming(request, { fix })))
  }
}

/** How a framework's request differs from a plain one. */
export interface IncomingOptions {
  /** What the operator should do when a parser read the body first. */
  readonly fix: string
  /** The stream of the body, where it is not the request itself. */
  readonly stream?: Readable
}

/** A Node request as the receiver takes it; for adapters of other frameworks over node:http. */
export function toIncoming(
  request: NodeRequest,
  { fix, stream = request }: IncomingOptions,
): Incoming {
  return {
    method: request.method ?? '',
    url: urlOf(request),
    headers: request.rawHeaders.flatMap((name, at, all) =>
      at % 2 === 0 ? [[name, all[at + 1] ?? ''] as const] : [],
    ),
    read: (limit) => readBody(stream, request, limit, fix),
  }
}

async function readBody(
  stream: Readable,
  request: NodeRequest,
  limit: number,
  fix: string,
): Promise<Uint8Array | BodyFault> {
  if (stream.readableDidRead || !stream.readable) {
    // A parser that kept the exact bytes has done no harm.
    const kept = [request.rawBody, request.body].find((one) => one instanceof Uint8Array)
    if (kept) return kept as Uint8Array
    const aborted = stream.destroyed && !request.complete
    return aborted ? { code: 'BODY_INCOMPLETE' } : { code: 'BODY_CONSUMED', message: fix }
  }
  try {
    return await getRawBody(stream, { limit })
  } catch (error) {
    const { type } = error as RawBodyError
    if (type === 'entity.too.large') return { code: 'BODY_TOO_LARGE' }
    if (type === 'stream.encoding.set') return { code: 'BODY_CONSUMED', message: fix }
    return { code: 'BODY_INCOMPLETE' }
  }
}

/** Writes a reply. What is left of the request is thrown away, so that the sender hears it. */
export function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (!response.headersSent) response.writeHead(reply.status, { ...reply.headers })
  response.end(reply.body)
  if (request.complete || request.destroyed) return
  request.resume()
  const patience = setTimeout(() => request.destroy(), 10_000)
  patience.unref()
  request.once('close', () => clearTimeout(patience))
}

function urlOf(request: NodeRequest): string {
  const secure = 'encrypted' in request.socket ? 'https' : 'http'
  const forwarded = String(request.headers['x-forwarded-proto'] ?? secure)
    .split(',', 1)[0]
    ?.trim()
  return `${forwarded}://${request.headers.host ?? ''}${request.originalUrl ?? request.url ?? ''}`
}
