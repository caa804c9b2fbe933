// node:http, and Koa or Nest over it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { Chunks } from '../src/foundation/chunks.ts'
import type { BodyFault, BodyReading, Incoming, Reply } from '../src/index.ts'
import { addressOf } from './address.ts'
import { answer } from './answer.ts'
import { checkNoOptions, checkReceiver, type HandlesRequests } from './mount.ts'
import { drainOnceSent, drainRequest, expire, ignoreErrors } from './unread.ts'

export type { HandlesRequests }

/** A request on which a framework may have left what it read. */
export type NodeRequest = IncomingMessage & {
  readonly originalUrl?: string
  readonly body?: unknown
  readonly rawBody?: unknown
}

const incomplete = { code: 'BODY_INCOMPLETE' } as const

const fix =
  'the body was read before the receiver: hand it the untouched request, before any body parser (Koa: mount it before koa-body and pass ctx.req; NestJS: mount it with WebhookModule of idv-webhooks/nest)'

/** A listener for `http.createServer`; methods other than POST are answered with 405. */
export function toNode(receiver: HandlesRequests, ...options: readonly never[]) {
  checkReceiver('toNode', receiver)
  checkNoOptions('toNode', options)
  return async (request: NodeRequest, response: ServerResponse): Promise<void> => {
    const handle = () => receiver.handle(toIncoming(request, { fix }))
    await answer(handle, (reply) => sendReply(request, response, reply))
  }
}

/** Differences of a framework's request from a plain one. */
export interface IncomingOptions {
  /** The fix that the operator sees if a parser read the body first. */
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
    headers: arrivedHeaders(request),
    address: request.socket?.remoteAddress,
    read: (reading) => readBody(stream, request, { reading, fix }),
  }
}

/** The headers as they arrived: `headers` would join repeated ones. */
function arrivedHeaders(request: NodeRequest): Incoming['headers'] {
  const { headers, rawHeaders, httpVersionMajor } = request
  // A host that makes requests itself, such as serverless-http, gives only `headers`.
  if (rawHeaders.length === 0) return headers
  return httpVersionMajor >= 2 ? regular(rawHeaders) : rawHeaders
}

/** Drops `:method`, `:path` and the other pseudo-headers of HTTP/2. */
function regular(raw: readonly string[]): string[] {
  return raw.filter((_, at) => !raw[at - (at % 2)]?.startsWith(':'))
}

interface HowToRead {
  readonly reading: BodyReading
  readonly fix: string
}

function readBody(
  stream: Readable,
  request: NodeRequest,
  { reading, fix }: HowToRead,
): Promise<Uint8Array | BodyFault> {
  const consumed = { code: 'BODY_CONSUMED', message: fix } as const
  if (stream.readableDidRead || !stream.readable) {
    // A parser may have kept the exact bytes.
    const kept = [request.rawBody, request.body].find((one) => one instanceof Uint8Array)
    if (kept) return Promise.resolve(unlessReset(request, kept as Uint8Array))
    // A whole body is `complete`, even if its sender hung up before it was read.
    const aborted = isReset(request) || (stream.destroyed && !stream.readableEnded)
    return Promise.resolve(aborted ? incomplete : consumed)
  }
  if (isReset(request)) return Promise.resolve(incomplete)
  return new Promise((resolve) => {
    const chunks = new Chunks()
    let ended = false
    const stop = (fault: BodyFault) => {
      stream.off('data', take).off('end', finish).off('error', fail).off('close', fail)
      ignoreErrors(stream)
      resolve(fault)
    }
    const take = (chunk: Uint8Array | string) => {
      if (typeof chunk === 'string') return stop(consumed)
      const fault = reading.take(chunk.length)
      if (fault) return stop(fault)
      chunks.add(chunk)
    }
    const finish = () => {
      ended = true
      resolve(unlessReset(request, chunks.joined()))
    }
    // A stream that has ended is closed too, and its listeners go with it.
    const fail = () => ended || stop(incomplete)
    reading.onStop((fault) => {
      expire(request)
      stop(fault)
    })
    stream.on('data', take).on('end', finish).on('error', fail).on('close', fail)
  })
}

/**
 * Over HTTP/2 a body that its sender resets ends as a whole one does. Node's own client marks its
 * end too, and the reset comes a turn later. A body of its declared length is whole all the same.
 */
function unlessReset(request: NodeRequest, body: Uint8Array) {
  const { httpVersionMajor, headers } = request
  if (httpVersionMajor < 2 || Number(headers['content-length']) === body.length) return body
  return new Promise<Uint8Array | BodyFault>((resolve) => {
    setImmediate(setImmediate, () => resolve(isReset(request) ? incomplete : body))
  })
}

const isReset = (request: NodeRequest) => request.httpVersionMajor >= 2 && request.aborted

/**
 * Writes a reply, unless other code has begun to answer. The rest of the request is read and thrown
 * away, so that the sender gets the reply.
 */
export function sendReply(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  // Writing to a response that other code ends would be an error that ends the process.
  if (response.headersSent) {
    drainRequest(request)
    return
  }
  try {
    response.writeHead(reply.status, headersOf(reply))
  } catch (error) {
    // Remove headers that were set before the invalid one; otherwise the error reply fails too.
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    throw error
  }
  drainOnceSent(request, response)
  response.end(reply.body)
}

/** Statuses whose responses have no body, and so no length. */
const bodiless: readonly number[] = [204, 205, 304]

const framing = /^(?:content-length|transfer-encoding)$/i

/** Adds the length, so that Node writes headers and body at once. */
function headersOf({ status, headers, body }: Reply): Record<string, string | number> {
  // First, because it throws for a body that is not text.
  const length = Buffer.byteLength(body)
  const isFramed = Object.keys(headers).some((name) => framing.test(name))
  if (isFramed || bodiless.includes(status)) return { ...headers }
  return { ...headers, 'content-length': length }
}

function urlOf(request: NodeRequest): string {
  const { headers, socket } = request
  const forwarded = headers['x-forwarded-proto']?.toString()
  const scheme = socket && 'encrypted' in socket ? 'https' : 'http'
  const host = (headers.host ?? headers[':authority'])?.toString()
  const target = request.originalUrl ?? request.url ?? ''
  // A request may name the whole address as its target.
  const whole = target.startsWith('/') ? undefined : URL.parse(target)
  const path = whole ? whole.pathname + whole.search : target
  return addressOf({ forwarded, scheme, host, path })
}
