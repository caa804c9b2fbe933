// A handler of web requests as a listener of Node's, for http.createServer, Express, Koa and Nest. A
// body that a parser has read already is taken from where it left it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { warn } from '../../src/foundation/warn.ts'
import { IncomingBody } from './incoming-body.ts'
import { type Exchange, hasLeft, sendAnswer } from './node-answer.ts'

/** A request on which a framework may have left what it knows. */
export type MountedRequest = IncomingMessage & {
  readonly originalUrl?: string
  /** The part of the path that Express removed. */
  readonly baseUrl?: string
  readonly body?: unknown
}

export type NodeListener = (request: MountedRequest, response: ServerResponse) => Promise<void>

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
  const refuse = (address: string, outgoing: ServerResponse) => {
    outgoing.writeHead(403).end()
    const message = `inboxConsole: reached at ${address} with authorize: 'loopback' and refused: pass authorize: (request) => boolean`
    if (!warned) warn(message, 'CONSOLE_NOT_LOOPBACK')
    warned = true
  }
  return async (incoming, outgoing) => {
    const gone = new AbortController()
    try {
      // While the app was busy with something else.
      if (hasLeft({ incoming, outgoing })) return
      const address = incoming.socket.localAddress ?? ''
      if (loopbackOnly && !/^(127\.|::1$|::ffff:127\.)/.test(address)) {
        refuse(address, outgoing)
        return
      }
      outgoing.once('close', () => gone.abort())
      await answer(handle, { incoming, outgoing, gone })
    } catch {
      // The client has left, or events broke after the head of their answer.
      outgoing.destroy()
    } finally {
      gone.abort()
    }
  }
}

async function answer(handle: Handle, exchange: Exchange): Promise<void> {
  const { incoming, gone } = exchange
  const body = hasBody(incoming) ? bodyOf(incoming) : undefined
  const request = toRequest(incoming, body, gone.signal)
  const response = request ? await handle(request, mountOf(incoming)) : malformed()
  if (hasLeft(exchange)) return
  await sendAnswer(response, exchange)
  // Over HTTP/2 it ends with its stream.
  if (body instanceof IncomingBody && incoming.httpVersionMajor < 2) await body.discard()
}

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

/** Undefined where the web's Request cannot hold its target, method, headers or body. */
function toRequest(
  incoming: MountedRequest,
  body: unknown,
  signal: AbortSignal,
): Request | undefined {
  const { method = 'GET' } = incoming
  const target = targetOf(incoming)
  if (!target) return undefined
  try {
    const headers = headersOf(incoming)
    return new Request(target, { method, headers, signal, ...contentOf(body) })
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

/** As a parser left it, or a stream: nothing of a stranger's is read before `authorize`. */
function bodyOf(incoming: MountedRequest): unknown {
  // Some parsers set a body also where they have read nothing.
  const body = incoming.readableDidRead || !incoming.readable ? incoming.body : undefined
  if (body !== undefined) return body
  return incoming.readable ? new IncomingBody(incoming) : ''
}

/** Throws for what is nested too deeply to be written, which parsers take on some hosts. */
function contentOf(body: unknown): RequestInit {
  if (body === undefined) return {}
  if (body instanceof IncomingBody) return { body: body.stream, duplex: 'half' } as RequestInit
  // Parsers that keep the exact bytes leave them as they came.
  if (body instanceof Uint8Array) return { body: Buffer.from(body).toString() }
  return { body: typeof body === 'string' ? body : JSON.stringify(body) }
}
