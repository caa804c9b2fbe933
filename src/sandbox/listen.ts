// The sandbox on a port: a bridge from node:http to the web-standard fetch. It knows no route.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { HttpError } from './http-error.ts'

/** Where to listen; loopback and any free port by default. */
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
    refuse(response, 417, 'The Expect header asks for what the service does not do')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const bound = (server.address() as AddressInfo).port
  // A wildcard is no address to call.
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
  const request = toRequest(incoming, gone.signal)
  if (!request) return malformed(outgoing)
  const response = await handler(request)
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
  outgoing.writeHead(response.status)
  if (!response.body) outgoing.end()
  else {
    outgoing.flushHeaders()
    await pipeline(Readable.fromWeb(response.body as NodeReadableStream), outgoing)
  }
  // What is left of a refused body is thrown away, so that the caller hears the answer.
  if (!incoming.complete) incoming.resume()
}

/** Undefined when the target or a header is none that the web's Request can hold. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const method = incoming.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  try {
    const target = incoming.url ?? '/'
    // Otherwise the target is a path of ours, also one that begins with two slashes.
    const url = /^https?:\/\//i.test(target)
      ? new URL(target)
      : `http://${incoming.headers.host ?? 'localhost'}${pathOf(target)}`
    const headers = new Headers()
    for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
      headers.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '')
    }
    const body = Readable.toWeb(incoming) as unknown as BodyInit
    return new Request(url, {
      method,
      headers,
      signal,
      ...(hasBody && { body, duplex: 'half' }),
    })
  } catch {
    return undefined
  }
}

const pathOf = (target: string) => (target.startsWith('/') ? target : '/')

function malformed(outgoing: ServerResponse): void {
  refuse(outgoing, 400, 'The request is malformed')
}

function refuse(outgoing: ServerResponse, status: number, message: string): void {
  const { body } = new HttpError(status, message)
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** What is no HTTP, or has too many headers, is told in the error form too. */
function refuseClient(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable) return
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const [status, words] = tooLarge ? [431, 'Request Header Fields Too Large'] : [400, 'Bad Request']
  const body = JSON.stringify(new HttpError(status as number, 'The request is malformed').body)
  const head = `HTTP/1.1 ${status} ${words}\r\ncontent-type: application/json\r\n`
  socket.end(`${head}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`)
}
