// A handler of web requests as a listener of Node's, for http.createServer, Express, Koa and Nest. A
// body that a parser has read already is taken from where it left it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { WebhookError } from '../foundation/errors.ts'

/** A request on which a framework may have left what it knows. */
export type MountedRequest = IncomingMessage & {
  readonly originalUrl?: string
  /** The part of the path that Express removed. */
  readonly baseUrl?: string
  readonly body?: unknown
}

export type NodeListener = (request: MountedRequest, response: ServerResponse) => Promise<void>

type Handle = (request: Request, mount: string) => Promise<Response>

/** @throws WebhookError `OPTION_INVALID` out of the listener, reached over more than `loopbackOnly` */
export function toNodeListener(
  handle: Handle,
  { loopbackOnly }: { readonly loopbackOnly: boolean },
): NodeListener {
  return async (incoming, outgoing) => {
    const address = incoming.socket.localAddress ?? ''
    if (loopbackOnly && !/^(127\.|::1$|::ffff:127\.)/.test(address)) {
      outgoing.writeHead(403).end()
      throw new WebhookError(
        'OPTION_INVALID',
        `inboxConsole: mounted at ${address} with authorize: 'loopback': pass authorize: (request) => boolean`,
      )
    }
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    const request = await toRequest(incoming, gone.signal)
    await reply(await handle(request, incoming.baseUrl ?? ''), outgoing, gone.signal)
  }
}

async function toRequest(incoming: MountedRequest, signal: AbortSignal): Promise<Request> {
  const { method = 'GET', originalUrl, url = '/', rawHeaders } = incoming
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  }
  const secure = 'encrypted' in incoming.socket && incoming.socket.encrypted === true
  const host = headers.get('host') ?? 'localhost'
  const target = new URL(originalUrl ?? url, `${secure ? 'https' : 'http'}://${host}`)
  const body = method === 'GET' || method === 'HEAD' ? undefined : await textOf(incoming)
  return new Request(target, { method, headers, signal, ...(body !== undefined && { body }) })
}

const maxBody = 65_536

async function textOf(incoming: MountedRequest): Promise<string> {
  const { body } = incoming
  if (body !== undefined) return typeof body === 'string' ? body : JSON.stringify(body)
  let text = ''
  incoming.setEncoding('utf8')
  for await (const part of incoming) {
    text += part
    // The handler says what is wrong with it.
    if (text.length > maxBody) break
  }
  return text
}

async function reply(
  response: Response,
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
  outgoing.writeHead(response.status)
  outgoing.flushHeaders()
  if (!response.body) return void outgoing.end()
  try {
    await pipeline(Readable.fromWeb(response.body as ReadableStream), outgoing)
  } catch (error) {
    // A client that has left is not an error.
    if (!signal.aborted) throw error
  }
}
