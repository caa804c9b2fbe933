// node:http, and Koa or Nest over it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import rawBody from 'raw-body'
import type { BodyFault, BodyReading, Incoming, Reply } from '../src/index.ts'
import { addressOf } from './address.ts'
import { answer } from './answer.ts'
import { checkNoOptions, checkReceiver, type HandlesRequests } from './mount.ts'
import { drainRequest, endOnceRead, expire, ignoreErrors } from './unread.ts'

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
    const handled = receiver.handle(toIncoming(request, { fix }))
    await answer(handled, (reply) => sendReply(request, response, reply))
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
export function toIncoming(request: NodeRequest, { fix, stream }: IncomingOptions): Incoming {
  return new NodeIncoming(request, stream ?? request, fix)
}

class NodeIncoming implements Incoming {
  readonly method: string
  readonly headers: Incoming['headers']
  /** The address of the connected client. */
  readonly address: string | undefined
  readonly #request: NodeRequest
  readonly #stream: Readable
  readonly #fix: string

  constructor(request: NodeRequest, stream: Readable, fix: string) {
    this.method = request.method ?? ''
    this.headers = arrivedHeaders(request)
    this.address = request.socket?.remoteAddress
    this.#request = request
    this.#stream = stream
    this.#fix = fix
  }

  get url(): string {
    return urlOf(this.#request)
  }

  read(reading: BodyReading): Promise<Uint8Array | BodyFault> {
    return readBody(this.#stream, this.#request, { reading, fix: this.#fix })
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
  blocks?: Blocks
}

/** Bodies that have not come whole. Their listeners are shared, so a body needs no closure. */
const arriving = new WeakMap<Readable, ArrivingBody>()

function onData(this: Readable, chunk: Uint8Array | string): void {
  const body = arriving.get(this)
  if (!body) return
  const fault = typeof chunk === 'string' ? body.consumed : body.reading.take(chunk.length)
  if (fault) stop(body, fault)
  else if (body.blocks) body.blocks.add(chunk as Uint8Array)
  else if (body.first) body.blocks = joining(body, [body.first, chunk as Uint8Array])
  else body.first = chunk as Uint8Array
}

/** Begins to join the chunks of a body that has more than one. */
function joining(body: ArrivingBody, chunks: readonly Uint8Array[]): Blocks {
  const blocks = new Blocks()
  for (const chunk of chunks) blocks.add(chunk)
  rawBody(blocks, { limit: body.reading.limit }).then(
    (bytes) => body.resolve(unlessReset(body.request, bytes)),
    () => body.resolve(incomplete),
  )
  return blocks
}

function onEnd(this: Readable): void {
  const body = arriving.get(this)
  if (!body) return
  arriving.delete(this)
  // Most bodies are one chunk, which needs no copy.
  if (body.blocks) body.blocks.end()
  else body.resolve(unlessReset(body.request, body.first ?? new Uint8Array()))
}

/** A stream that has ended closes too. */
function onClose(this: Readable): void {
  const body = arriving.get(this)
  if (body) stop(body, incomplete)
}

function stop({ stream, blocks, resolve }: ArrivingBody, fault: BodyFault): void {
  arriving.delete(stream)
  stream.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
  ignoreErrors(stream)
  resolve(fault)
  blocks?.destroy()
}

/** Bytes of the longest block that short chunks share. */
const maxBlock = 16 * 1024

/**
 * The chunks of a body in few blocks, which grow with what came. raw-body keeps every chunk, and a
 * sender that makes them one byte long would hold hundreds of bytes for each.
 */
class Blocks extends Readable {
  #block = Buffer.alloc(0)
  #used = 0
  #length = 0

  override _read(): void {}

  add(chunk: Uint8Array): void {
    this.#length += chunk.length
    const fitting = chunk.subarray(0, this.#block.length - this.#used)
    this.#block.set(fitting, this.#used)
    this.#used += fitting.length
    if (fitting.length === chunk.length) return
    this.#pass()
    const rest = chunk.subarray(fitting.length)
    this.#block = Buffer.alloc(Math.max(rest.length, Math.min(this.#length, maxBlock)))
    this.#block.set(rest)
    this.#used = rest.length
  }

  end(): void {
    this.#pass()
    this.push(null)
  }

  #pass(): void {
    if (this.#used > 0) this.push(this.#block.subarray(0, this.#used))
  }
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
  if (request.complete) response.end(reply.body)
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
