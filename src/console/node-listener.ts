// A handler of web requests as a listener of Node's, for http.createServer, Express, Koa and Nest. A
// body that a parser has read already is taken from where it left it.
import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { warn } from '../foundation/warn.ts'
import { IncomingBody } from './incoming-body.ts'

/** A request on which a framework may have left what it knows. */
export type MountedRequest = IncomingMessage & {
  readonly originalUrl?: string
  /** The part of the path that Express removed. */
  readonly baseUrl?: string
  readonly body?: unknown
}

export type NodeListener = (request: MountedRequest, response: ServerResponse) => Promise<void>

/** Seconds for which an answer may keep a server from closing. */
const mostClosing = 10

type Handle = (request: Request, mount: string) => Promise<Response>

/**
 * A listener that never rejects: an app that leaves its promise alone, as `http.createServer` does,
 * would be ended by whoever asks. Reached over more than `loopbackOnly`, it refuses and warns.
 */
export function toNodeListener(
  handle: Handle,
  { loopbackOnly }: { readonly loopbackOnly: boolean },
): NodeListener {
  let warned = false
  return async (incoming, outgoing) => {
    // The client has left while the app was busy with something else, and `close` comes once.
    if (outgoing.destroyed || streamOf(incoming)?.destroyed) return
    const address = incoming.socket.localAddress ?? ''
    if (loopbackOnly && !/^(127\.|::1$|::ffff:127\.)/.test(address)) {
      outgoing.writeHead(403).end()
      const message = `inboxConsole: reached at ${address} with authorize: 'loopback' and refused: pass authorize: (request) => boolean`
      if (!warned) warn(message, 'CONSOLE_NOT_LOOPBACK')
      warned = true
      return
    }
    const gone = new AbortController()
    // Not over a server that is handed its connections and never listens itself.
    const listened = isListening(incoming)
    const stream = streamOf(incoming)
    const session = stream?.session
    const letGo = () => (session ? session.close() : incoming.socket.destroySoon?.())
    let closing = 0
    const watch = setInterval(() => {
      if (!listened || isListening(incoming)) return
      closing += 1
      if (closing === 1) {
        outgoing.once('finish', letGo)
        gone.abort()
      }
      // Its client does not read.
      if (closing > mostClosing) outgoing.destroy()
    }, 1_000)
    watch.unref()
    outgoing.once('close', () => gone.abort())
    const body = hasBody(incoming) ? bodyOf(incoming) : undefined
    // Otherwise it stays open until the caller has sent all of the body.
    stream?.once('finish', () => stream.close())
    try {
      const request = toRequest(incoming, body, gone.signal)
      const response = request ? await handle(request, mountOf(incoming)) : malformed()
      await reply(response, outgoing)
      if (body instanceof IncomingBody && !stream) await body.discard()
    } catch {
      // The client has left, or a stream broke after the head of its answer.
      outgoing.destroy()
    } finally {
      clearInterval(watch)
    }
  }
}

/** A server that closes waits for its answers, and an app may drain its worker only afterwards. */
function isListening({ socket }: MountedRequest): boolean {
  const { server } = (socket ?? {}) as { readonly server?: { readonly listening?: boolean } }
  return server?.listening === true
}

/** A request of HTTP/2, which has no socket of its own. */
interface Http2Stream extends EventEmitter {
  readonly session?: { close(): void }
  readonly destroyed: boolean
  close(): void
}

const streamOf = (incoming: MountedRequest) => (incoming as { stream?: Http2Stream }).stream

/** The part of the path that a framework removed; those that are made like Connect do not name it. */
function mountOf({ baseUrl, originalUrl, url = '/' }: MountedRequest): string {
  if (baseUrl !== undefined) return baseUrl
  const [asked = '', left = ''] = [originalUrl ?? url, url].map((one) => one.split('?', 1)[0])
  if (left === '/' && !asked.endsWith('/')) return asked
  return asked.endsWith(left) ? asked.slice(0, asked.length - left.length) : ''
}

function malformed(): Response {
  const statusCode = 400
  const message = 'The request is malformed'
  return Response.json({ code: 'BAD_REQUEST', message, statusCode }, { status: statusCode })
}

/** Undefined where the web's Request cannot hold its target, method or headers. */
function toRequest(
  incoming: MountedRequest,
  body: string | IncomingBody | undefined,
  signal: AbortSignal,
): Request | undefined {
  const { method = 'GET' } = incoming
  const target = targetOf(incoming)
  if (!target) return undefined
  const content = body instanceof IncomingBody ? { body: body.stream, duplex: 'half' } : { body }
  try {
    const headers = headersOf(incoming)
    return new Request(target, { method, headers, signal, ...(body !== undefined && content) })
  } catch {
    return undefined
  }
}

/** Without `:method`, `:path` and the others of HTTP/2, among which it names the host. */
function headersOf(incoming: MountedRequest): Headers {
  const raw = incoming.rawHeaders
  // A host that makes requests of its own, as serverless-http does, gives the parsed ones alone.
  const parsed = () => Object.entries(incoming.headers).flat().map(String)
  const rawHeaders = raw.length > 0 ? raw : parsed()
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (!name.startsWith(':')) headers.append(name, rawHeaders[at + 1] ?? '')
  }
  const authority = incoming.headers[':authority']
  if (typeof authority === 'string') headers.set('host', authority)
  return headers
}

/** The address that was asked for; a Host that is more than a name would move its path. */
function targetOf(incoming: MountedRequest): URL | undefined {
  const { originalUrl, url = '/', headers, socket } = incoming
  const host = headers[':authority'] ?? headers.host ?? 'localhost'
  const secure = 'encrypted' in socket && socket.encrypted === true
  const own = URL.parse(`${secure ? 'https' : 'http'}://${host}`)
  if (!own || own.href !== `${own.origin}/`) return undefined
  const asked = originalUrl ?? url
  if (asked.startsWith('/')) return URL.parse(own.origin + asked) ?? undefined
  const { pathname = '/', search = '' } = URL.parse(asked) ?? {}
  return URL.parse(own.origin + (pathname.startsWith('/') ? pathname : '/') + search) ?? undefined
}

const hasBody = ({ method }: MountedRequest) => method !== 'GET' && method !== 'HEAD'

/** The text that a parser left, or a stream: nothing of a stranger's is read before `authorize`. */
function bodyOf(incoming: MountedRequest): string | IncomingBody {
  // Some parsers set a body also where they have read nothing.
  const body = incoming.readableDidRead || !incoming.readable ? incoming.body : undefined
  if (body === undefined) return incoming.readable ? new IncomingBody(incoming) : ''
  // Parsers that keep the exact bytes leave them as they came.
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  return typeof body === 'string' ? body : JSON.stringify(body)
}

async function reply(response: Response, outgoing: ServerResponse): Promise<void> {
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
  outgoing.writeHead(response.status)
  outgoing.flushHeaders()
  if (response.body) {
    await pipeline(Readable.fromWeb(response.body as ReadableStream), outgoing)
  } else outgoing.end()
}
