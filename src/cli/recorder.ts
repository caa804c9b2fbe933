// The inside of capture: a server that takes every request as it is, hands it on untouched, and
// answers as the app behind it did.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Answer, deliver } from './deliver.ts'
import { CliError, exitCodes } from './exit-code.ts'

/** A request as it arrived. */
export interface Arrival {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
}

/** How a recorder works. */
export interface RecorderOptions {
  readonly port: number
  readonly host: string
  readonly forward?: string | undefined
  /** The answer where nothing is forwarded. */
  readonly status: number
  readonly maxBytes: number
  /** Seconds to wait for the app behind. */
  readonly timeout: number
  readonly signal: AbortSignal
  /** Called before the answer goes out, so that what was answered was also kept. */
  readonly onArrival: (arrival: Arrival, answer: Answer | undefined) => Promise<void>
}

/** A recorder that listens. */
export interface Recorder {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** Starts to record. */
export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const server = createServer((request, response) => {
    take(request, response, options).catch(() => {
      if (!response.headersSent) response.writeHead(502)
      response.end()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE' ? 'is taken: give another --port, or 0' : 'fails'
      const message = `port ${options.port} ${taken} (${error.code})`
      reject(new CliError(error.code ?? 'LISTEN_FAILED', message, exitCodes.failed))
    })
    server.listen(options.port, options.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return {
    url: `http://${host}:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 1000).unref()
      }),
  }
}

async function take(request: IncomingMessage, response: ServerResponse, options: RecorderOptions) {
  const body = await readBody(request, options.maxBytes)
  if (body === undefined) {
    response.writeHead(413, { connection: 'close' }).end()
    return
  }
  const arrival = { method: request.method ?? 'POST', url: urlOf(request), ...pairs(request), body }
  const answer = await forwarded(request, arrival, options)
  await options.onArrival(arrival, answer)
  if (answer === undefined) {
    response.writeHead(options.status, { 'content-type': 'application/json' })
    response.end('{"outcome":"captured"}')
    return
  }
  const headers = Object.entries(answer.headers).filter(
    ([name]) => !/^(connection|transfer-encoding|content-length|keep-alive)$/.test(name),
  )
  response.writeHead(answer.status === 0 ? 502 : answer.status, Object.fromEntries(headers))
  response.end(answer.body)
}

async function readBody(request: IncomingMessage, most: number): Promise<Uint8Array | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > most) return undefined
    parts.push(part)
  }
  return new Uint8Array(Buffer.concat(parts))
}

function pairs({ rawHeaders }: IncomingMessage): Pick<Arrival, 'headers'> {
  const headers = rawHeaders.flatMap((name, at, all) =>
    at % 2 === 0 ? [[name, all[at + 1] ?? ''] as const] : [],
  )
  return { headers }
}

function urlOf(request: IncomingMessage): string {
  const protocol = String(request.headers['x-forwarded-proto'] ?? 'http').split(',', 1)[0]
  return `${protocol?.trim()}://${request.headers.host ?? 'localhost'}${request.url ?? '/'}`
}

/** An address with a path of its own is taken as it is; a bare host gets the request's path. */
function forwarded(request: IncomingMessage, arrival: Arrival, options: RecorderOptions) {
  if (options.forward === undefined) return undefined
  const bare = new URL(options.forward).pathname === '/'
  const url = bare ? new URL(request.url ?? '/', options.forward).href : options.forward
  return deliver({ ...arrival, url }, options)
}
