// The console as a listener of node:http, for http.createServer, Express, Koa and Nest. Loaded by its
// first request, because other runtimes lack node:http.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { isBytes } from '../../src/foundation/bytes.ts'
import { warn } from '../../src/foundation/warn.ts'
import { isLoopbackAddress } from '../../src/host/loopback.ts'

/** A request on which a framework may have left what it knows. */
export type MountedRequest = IncomingMessage & {
  readonly originalUrl?: string
  /** The part of the path that Express removed. */
  readonly baseUrl?: string
  readonly body?: unknown
}

export type MountedListener = (request: MountedRequest, response: ServerResponse) => Promise<void>

export interface Mounted {
  readonly mount: string
  readonly isServing: () => boolean
}

type Handle = (request: Request, mounted: Mounted) => Response | Promise<Response>

/** Makes a listener that never rejects. If `loopbackOnly`, it refuses other addresses and warns. */
export function toNodeListener(
  handle: Handle,
  { loopbackOnly }: { readonly loopbackOnly: boolean },
): MountedListener {
  let warned = false
  return async (incoming, outgoing) => {
    // The client may have left while the app was busy.
    if (outgoing.destroyed || incoming.socket.destroyed) return
    const address = incoming.socket.localAddress ?? ''
    if (loopbackOnly && !isLoopbackAddress(address)) {
      outgoing.writeHead(403).end()
      const message = `inboxConsole: reached at ${address} with authorize: 'loopback' and refused: pass authorize: (request) => boolean`
      if (!warned) warn(message, 'CONSOLE_NOT_LOOPBACK')
      warned = true
      return
    }
    const mounted = { mount: mountOf(incoming), isServing: servingOf(incoming) }
    const listen = getRequestListener((request) => handle(request, mounted), {
      overrideGlobalObjects: false,
      errorHandler: malformed,
    })
    outgoing.once('finish', () => {
      // A server that closes waits for its connections; those of HTTP/2 end with their streams.
      const isLast = !mounted.isServing() && incoming.httpVersionMajor < 2
      if (isLast) incoming.socket.destroySoon()
    })
    await listen(Object.assign(incoming, originalOf(incoming)), outgoing)
  }
}

/** Restores the request as it arrived, after a framework and its parsers. */
function originalOf(incoming: MountedRequest): object {
  const { originalUrl, url, headers, rawHeaders, body } = incoming
  // Some parsers set a body although they have read nothing.
  const isRead = incoming.readableDidRead || !incoming.readable
  return {
    url: originalUrl ?? url,
    // A host that makes requests itself, as serverless-http does, gives only parsed headers.
    ...(rawHeaders.length === 0 && { rawHeaders: Object.entries(headers).flat().map(String) }),
    ...(isRead && { rawBody: bytesOf(body) }),
  }
}

/** The bytes of a parsed body; none if it cannot be written as JSON again. */
function bytesOf(body: unknown): Buffer {
  if (isBytes(body)) return Buffer.from(body)
  try {
    return Buffer.from(typeof body === 'string' ? body : (JSON.stringify(body) ?? ''))
  } catch {
    return Buffer.alloc(0)
  }
}

function mountOf({ baseUrl, originalUrl, url = '/' }: MountedRequest): string {
  if (baseUrl !== undefined) return baseUrl
  // Frameworks that are made like Connect do not name the mount.
  const [asked = '', left = ''] = [originalUrl ?? url, url].map((one) => one.split('?', 1)[0])
  if (left === '/' && !asked.endsWith('/')) return asked
  return asked.endsWith(left) ? asked.slice(0, asked.length - left.length) : ''
}

/** A server that is handed its connections never listens. */
function servingOf({ socket }: IncomingMessage): () => boolean {
  const { server } = socket as { readonly server?: { readonly listening: boolean } }
  const listened = server?.listening
  return () => !listened || server?.listening === true
}

function malformed(): Response {
  const body = { code: 'BAD_REQUEST', message: 'The request is malformed', statusCode: 400 }
  return Response.json(body, { status: 400 })
}
