// node:http, and Koa or Nest over it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { Chunks, isBytes } from '../src/foundation/bytes.ts'
import { nextTurn } from '../src/host/runtime.ts'
import type { BodyFault, BodyReading, Incoming, Reply } from '../src/index.ts'
import { addressOf } from './address.ts'
import { answer } from './answer.ts'
import { checkNoOptions, checkReceiver, type HandlesRequests } from './mount.ts'
import { drainRequest, endOnceRead, expire, ignoreErrors, isRead } from './unread.ts'

export type { HandlesRequests }

/** A request on which a framework may have left a body that it read. */
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
  checkReceiver({ toNode }, receiver)
  checkNoOptions({ toNode }, options)
  return async (request: NodeRequest, response: ServerResponse): Promise<void> => {
    const handled = receiver.handle(toIncoming(request, { fix }))
    await answer(handled, (reply) => sendReply(request, response, reply))
  }
}

/** Differences of a framework's request from a plain one. */
export interface IncomingOptions {
  /** The fix that the operator sees if a parser read the body first. */
  readonly fix: string
  /** The stream of the body, if it is not the request itself. */
  readonly stream?: Readable
}

/** A Node request as the receiver takes it; for adapters of other frameworks over node:http. */
export function toIncoming(request: NodeRequest, { fix, stream }: IncomingOptions): Incoming {
  return new NodeIncoming(request, stream ?? request, fix)
}

class NodeIncoming implements Incoming {
  declare readonly method: string
  declare readonly headers: Incoming['headers']
  /** The address of the connected client. */
  declare readonly address: string | undefined
  declare private readonly request: NodeRequest
  declare private readonly stream: Readable
  declare private readonly fix: string

  constructor(request: NodeRequest, stream: Readable, fix: string) {
    this.method = request.method ?? ''
    const { rawHeaders, httpVersionMajor } = request
    const isPlain = httpVersionMajor < 2 && rawHeaders.length > 0
    this.headers = isPlain ? rawHeaders : arrivedHeaders(request)
    this.address = request.socket?.remoteAddress
    this.request = request
    this.stream = stream
    this.fix = fix
  }

  get url(): string {
    return urlOf(this.request)
  }

  read(reading: BodyReading): Promise<Uint8Array | BodyFault> {
    return readBody(this.stream, this.request, { reading, fix: this.fix })
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
    const kept = [request.rawBody, request.body].find((one) => isBytes(one))
    if (kept) return Promise.resolve(unlessReset(request, kept as Uint8Array))
    // A whole body is `complete`, even if its sender hung up before it was read.
    const aborted = isReset(request) || (stream.destroyed && !stream.readableEnded)
    return Promise.resolve(aborted ? incomplete : consumed)
  }
  const isHttp2 = request.httpVersionMajor >= 2
  if (isHttp2 && isReset(request)) return Promise.resolve(incomplete)
  return new Promise((resolve) => {
    const body: ArrivingBody = { stream, request, reading, consumed, resolve }
    arriving.set(stream, body)
    reading.onStop((fault) => {
      expire(request)
      stop(body, fault)
    })
    stream.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
  })
}

interface ArrivingBody {
  readonly stream: Readable
  readonly request: NodeRequest
  readonly reading: BodyReading
  /** The fault if a parser decoded the chunks. */
  readonly consumed: BodyFault
  readonly resolve: (body: Uint8Array | BodyFault | Promise<Uint8Array | BodyFault>) => void
  first?: Uint8Array
  /** All chunks, if there are several. */
  chunks?: Chunks
}

/** Bodies that have not come whole. Their listeners are shared, so a body needs no closure. */
const arriving = new WeakMap<Readable, ArrivingBody>()

function onData(this: Readable, chunk: Uint8Array | string): void {
  const body = arriving.get(this)
  if (!body) return
  const isText = typeof chunk === 'string'
  const fault = isText ? body.consumed : body.reading.take(chunk.length)
  if (fault || isText) stop(body, fault ?? body.consumed)
  else if (body.chunks) body.chunks.add(chunk)
  else if (body.first) body.chunks = new Chunks().add(body.first).add(chunk)
  else body.first = chunk
}

function onEnd(this: Readable): void {
  const body = arriving.get(this)
  if (!body) return
  arriving.delete(this)
  const { request, first } = body
  // Most bodies are one chunk, which needs no copy.
  body.resolve(first && !body.chunks && request.httpVersionMajor < 2 ? first : wholeBody(body))
}

async function wholeBody({ request, reading, first, chunks }: ArrivingBody) {
  let bytes = first ?? new Uint8Array()
  if (chunks) {
    // Loaded on demand: the edge runtime of Next.js has no modules of Node.
    const { default: readRawBody } = await import('raw-body')
    const { Readable } = process.getBuiltinModule('node:stream')
    bytes = await readRawBody(Readable.from(chunks.blocks()), { limit: reading.limit })
  }
  return unlessReset(request, bytes)
}

/** A stream that has ended closes too. */
function onClose(this: Readable): void {
  const body = arriving.get(this)
  if (body) stop(body, incomplete)
}

function stop({ stream, resolve }: ArrivingBody, fault: BodyFault): void {
  arriving.delete(stream)
  stream.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
  ignoreErrors(stream)
  resolve(fault)
}

/**
 * Over HTTP/2 a body that its sender resets ends like a whole one. Node's own client marks its end
 * too, and the reset comes a turn later. A body of its declared length is whole.
 */
function unlessReset(request: NodeRequest, body: Uint8Array) {
  const { httpVersionMajor, headers } = request
  if (httpVersionMajor < 2 || Number(headers['content-length']) === body.length) return body
  const settled = nextTurn().then(nextTurn)
  return settled.then(() => (isReset(request) ? incomplete : body))
}

const isReset = (request: NodeRequest) => request.httpVersionMajor >= 2 && request.aborted

/**
 * Writes a reply, unless other code has begun to answer. The rest of the request is read and thrown
 * away first, so that the sender gets the reply.
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
  if (request.complete || isRead(request)) response.end(reply.body)
  else endOnceRead(request, response, reply.body)
}

/** Statuses whose responses have no body, and so no length. */
const bodiless: readonly number[] = [204, 205, 304]

const framing = /^(?:content-length|transfer-encoding)$/i

/** The headers of replies that are made once. */
const framed = new WeakMap<Reply, Record<string, string | number>>()

/** Adds the length, so that Node writes headers and body at once. */
function headersOf(reply: Reply): Record<string, string | number> {
  const ready = framed.get(reply)
  if (ready) return ready
  const { status, headers, body } = reply
  // First, because it throws for a body that is not text.
  const length = Buffer.byteLength(body)
  const isFramed = Object.keys(headers).some((name) => framing.test(name))
  const all =
    isFramed || bodiless.includes(status) ? headers : { ...headers, 'content-length': length }
  if (Object.isFrozen(reply)) framed.set(reply, all)
  return all
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
