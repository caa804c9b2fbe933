// The sandbox on a port: a bridge from node:http to the web-standard fetch, without routes.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { IncomingBody } from '../console/incoming-body.ts'
import { HttpError } from './http-error.ts'

/** The address to listen on; loopback and any free port by default. */
export interface ListenOptions {
  readonly port?: number | undefined
  readonly host?: string | undefined
}

export interface Listening {
  readonly url: string
  readonly host: string
  readonly port: number
  /** Ends open connections, streams among them. */
  close(): Promise<void>
}

export type FetchHandler = (request: Request) => Response | Promise<Response>

/** Serves a handler over HTTP; rejects with the system's error when the port is taken. */
export async function serve(
  handler: FetchHandler,
  options: ListenOptions = {},
): Promise<Listening> {
  const { port = 0, host = '127.0.0.1' } = options
  const server = createServer((request, response) => {
    answer(handler, request, response).catch(() => response.destroy())
  })
  server.on('clientError', refuseClient)
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    const { status, body } = new HttpError(417, 'The Expect header asks for something unsupported')
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const bound = (server.address() as AddressInfo).port
  // A wildcard address cannot be called.
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = reached.includes(':') ? `[${reached}]` : reached
  return {
    url: `http://${name}:${bound}`,
    host,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  handler: FetchHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  const body = mayHaveBody(incoming) ? new IncomingBody(incoming) : undefined
  const request = toRequest(incoming, body, gone.signal)
  const response = request ? await handler(request) : malformed()
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
  // An error that was answered before the whole body had come.
  const unread = body?.unread ? body : undefined
  const closes = unread !== undefined && !unread.isBounded
  if (closes) outgoing.setHeader('connection', 'close')
  outgoing.writeHead(response.status)
  outgoing.flushHeaders()
  if (response.body) {
    const content = Readable.fromWeb(response.body as NodeReadableStream)
    await pipeline(content, outgoing, { end: !closes })
  } else if (!closes) outgoing.end()
  await unread?.discard()
  // Ending it earlier would reset the connection while the caller still writes.
  if (closes) outgoing.end()
}

/** The web's Request takes none with GET and HEAD. */
function mayHaveBody({ method, headers }: IncomingMessage): boolean {
  const framed = headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
  return framed && method !== 'GET' && method !== 'HEAD'
}

/** Undefined when the target or a header cannot be held by the web's Request. */
function toRequest(
  incoming: IncomingMessage,
  body: IncomingBody | undefined,
  signal: AbortSignal,
): Request | undefined {
  const { method = 'GET' } = incoming
  try {
    const target = incoming.url ?? '/'
    // Every other target is a path of ours, also one that begins with two slashes.
    const url = /^https?:\/\//i.test(target)
      ? new URL(target)
      : `http://${incoming.headers.host ?? 'localhost'}${pathOf(target)}`
    const headers = new Headers()
    for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
      headers.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '')
    }
    // A stream needs half duplex; Request's own types do not know it yet.
    const content = body ? { body: body.stream, duplex: 'half' } : {}
    return new Request(url, { method, headers, signal, ...content } as RequestInit)
  } catch {
    return undefined
  }
}

const pathOf = (target: string) => (target.startsWith('/') ? target : '/')

function malformed(): Response {
  return new HttpError(400, 'The request is malformed').toResponse()
}

/** Bytes that are not HTTP, or too many headers, are answered in the error form too. */
function refuseClient(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable) return
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const [status, words] = tooLarge ? [431, 'Request Header Fields Too Large'] : [400, 'Bad Request']
  const body = JSON.stringify(new HttpError(status as number, 'The request is malformed').body)
  const head = `HTTP/1.1 ${status} ${words}\r\ncontent-type: application/json\r\n`
  socket.end(`${head}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`)
}
