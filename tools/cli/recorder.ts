// The server of capture: takes every request, forwards it unchanged, and returns the response of
// the app behind it. Plain node:http, because both directions keep each header as it was spelled.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type DeliveryAnswer, deliver, headerPairs, type RawHeaders } from './deliver.ts'
import { CliError, exitCodes } from './exit-code.ts'

export interface RecordedRequest {
  readonly method: string
  readonly url: string
  readonly headers: RawHeaders
  readonly body: Uint8Array
}

interface RecorderOptions {
  readonly port: number
  readonly host: string
  readonly to?: string | undefined
  readonly status: number
  readonly maxBytes: number
  /** Seconds to wait for the app. */
  readonly timeout: number
  readonly signal: AbortSignal
  /** Called before the response is sent; false if the delivery could not be kept. */
  readonly onRequest: (
    request: RecordedRequest,
    answer: DeliveryAnswer | undefined,
  ) => Promise<boolean>
  /** A request that failed before it could be kept. */
  readonly onError: (error: unknown) => void
  /** A request that cannot be a delivery. */
  readonly onRefused: (reason: string) => void
}

export async function startRecorder(options: RecorderOptions) {
  const server = createServer((request, response) => {
    record(request, response, options).catch((error: unknown) => {
      options.onError(error)
      const status = error instanceof CliError ? 413 : 502
      if (!response.headersSent) response.writeHead(status, { connection: 'close' })
      response.end()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, options.port)))
    server.listen(options.port, options.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return {
    url: `http://${host}:${port}`,
    port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 1000).unref()
      }),
  }
}

export function listenError(error: unknown, port: number): CliError {
  const { code = 'LISTEN_FAILED' } = error as NodeJS.ErrnoException
  const fix = 'is in use: choose another --port, or --port 0 for a free one'
  const why = code === 'EADDRINUSE' ? fix : 'cannot be used'
  return new CliError(code, `port ${port} ${why} (${code})`, exitCodes.failed)
}

async function record(
  request: IncomingMessage,
  response: ServerResponse,
  options: RecorderOptions,
): Promise<void> {
  const refusal = refusalOf(request)
  if (refusal !== undefined) {
    options.onRefused(refusal.reason)
    response.writeHead(refusal.status, { connection: 'close' }).end()
    return
  }
  const recorded = {
    method: request.method ?? 'POST',
    url: urlOf(request),
    headers: headerPairs(request.rawHeaders),
    body: await readBody(request, options.maxBytes),
  }
  const answer = await forwarded(request, recorded, options)
  const isKept = await options.onRequest(recorded, answer)
  if (answer === undefined) {
    response.writeHead(isKept ? options.status : 500, { 'content-type': 'application/json' })
    response.end(isKept ? '{"outcome":"captured"}' : '{"outcome":"not captured"}')
    return
  }
  // Unchanged: every header in its order and spelling, every byte.
  const headers = answer.rawHeaders.filter(([name]) => !hopByHop.test(name))
  response.sendDate = !headers.some(([name]) => /^date$/i.test(name))
  const length = ['Content-Length', String(answer.body.length)]
  response.writeHead(answer.status === 0 ? 502 : answer.status, [...headers.flat(), ...length])
  response.end(answer.body)
}

const hopByHop = /^(connection|transfer-encoding|content-length|keep-alive)$/i

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let bytes = 0
  // The connection stays open for the response if the loop is left early.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length
    if (bytes > maxBytes) {
      throw new CliError('BODY_TOO_LARGE', `its body is larger than --max-bytes ${maxBytes}`)
    }
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** Why a request cannot be a delivery: a web page sent it, or it names another server. */
function refusalOf({ url = '/', headers }: IncomingMessage) {
  if (!url.startsWith('/')) return { status: 400, reason: 'its target is not a path' }
  const { origin, host = '' } = headers
  const isOwn = origin === undefined || (loopbackHost.test(host) && origin === `http://${host}`)
  // An image or a form of a page need not send an Origin.
  const isForeign = /^(?:cross|same)-site$/.test(String(headers['sec-fetch-site']))
  if (isOwn && !isForeign) return undefined
  return { status: 403, reason: 'a web page of another origin sent it' }
}

function urlOf({ headers, url = '/' }: IncomingMessage): string {
  const protocol = String(headers['x-forwarded-proto'] ?? 'http').split(',', 1)[0]
  return `${protocol?.trim()}://${headers.host ?? 'localhost'}${url}`
}

function forwarded(request: IncomingMessage, recorded: RecordedRequest, options: RecorderOptions) {
  if (options.to === undefined) return undefined
  const { host = 'localhost' } = request.headers
  const { remoteAddress = '' } = request.socket
  const isLocal = /^(?:127\.|::1$|::ffff:127\.)/.test(remoteAddress)
  // An app that accepts only loopback decides by these headers: forwarding replaces host and
  // address.
  const headers: RawHeaders = [
    ...recorded.headers,
    ...(loopbackHost.test(host) ? [] : [['X-Forwarded-Host', host] as const]),
    ...(isLocal ? [] : [['X-Forwarded-For', remoteAddress] as const]),
  ]
  const url = onwardUrl(request.url ?? '/', options.to)
  return deliver({ ...recorded, headers, url }, { ...options, maxBytes: Number.POSITIVE_INFINITY })
}

/** A bare host gets the path of the request; an address with a path gets every request there. */
function onwardUrl(requested: string, to: string): string {
  const onward = new URL(to)
  // new URL() would take a path that begins with // for a host.
  const [path = '/', ...rest] = requested.split('?')
  const query = [onward.search.slice(1), rest.join('?')].filter((one) => one !== '').join('&')
  const pathname = onward.pathname === '/' ? path : onward.pathname
  return `${onward.origin}${pathname}${query === '' ? '' : `?${query}`}`
}
