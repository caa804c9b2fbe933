// The server of capture: takes every request, forwards it unchanged, and returns the response of
// the app behind it. Web pages and absolute targets are refused.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Answer, deliver } from './deliver.ts'
import { CliError, exitCodes } from './exit-code.ts'
import { type HeaderPairs, headerPairs } from './header-pairs.ts'
import { type BodyBounds, HeldBodies } from './held-bodies.ts'

/** A request as it arrived. */
export interface Arrival {
  readonly method: string
  readonly url: string
  readonly headers: HeaderPairs
  readonly body: Uint8Array
}

/** How a recorder works. */
export interface RecorderOptions extends BodyBounds {
  readonly port: number
  readonly host: string
  readonly to?: string | undefined
  /** The response status if nothing is forwarded. */
  readonly status: number
  /** Seconds to wait for the app. */
  readonly timeout: number
  readonly signal: AbortSignal
  /**
   * Called before the response is sent; false if the delivery could not be kept. The sender then
   * gets the response of the app, or a 500 without an app, so that it retries.
   */
  readonly onArrival: (arrival: Arrival, answer: Answer | undefined) => Promise<boolean>
  /** A request that failed before it could be kept. */
  readonly onError: (error: unknown) => void
  /** A request that cannot be a delivery. */
  readonly onRefused: (reason: string) => void
}

/** A listening recorder. */
export interface Recorder {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** Starts a recorder. */
export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const bodies = new HeldBodies(options)
  const server = createServer((request, response) => {
    take({ request, response, bodies }, options).catch((error: unknown) => {
      options.onError(error)
      if (!response.headersSent) response.writeHead(502)
      response.end()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken =
        error.code === 'EADDRINUSE' ? 'is in use: choose another --port, or 0' : 'cannot be used'
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

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly bodies: HeldBodies
}

async function take({ request, response, bodies }: Exchange, options: RecorderOptions) {
  const refusal = refusalOf(request)
  if (refusal !== undefined) {
    options.onRefused(refusal.reason)
    response.writeHead(refusal.status, { connection: 'close' }).end()
    return
  }
  const work = (body: Uint8Array) => record(body, { request, response }, options)
  const fault = await bodies.hold(request, work)
  if (fault === undefined) return
  options.onError(new Error(fault.reason))
  response.writeHead(fault.status, { connection: 'close' }).end()
}

async function record(
  body: Uint8Array,
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  options: RecorderOptions,
): Promise<void> {
  const method = request.method ?? 'POST'
  const headers = headerPairs(request.rawHeaders)
  const arrival = { method, url: urlOf(request), headers, body }
  const answer = await forwarded(request, arrival, options)
  const isKept = await options.onArrival(arrival, answer)
  if (answer === undefined) {
    response.writeHead(isKept ? options.status : 500, { 'content-type': 'application/json' })
    response.end(isKept ? '{"outcome":"captured"}' : '{"outcome":"not captured"}')
    return
  }
  forward(answer, response)
}

/**
 * Whether a page may have sent it. Browsers always send `Accept-Language`, and some let a page choose
 * the user agent; only a GET has no Origin then. Node's `fetch` sends the language too, and with it a
 * mode without a site, as no page can.
 */
function isOfPage({ method = 'POST', headers }: IncomingMessage): boolean {
  if (headers['accept-language'] === undefined) return false
  if (headers['user-agent']?.startsWith('Mozilla/') === true) return true
  const isNode = headers['sec-fetch-mode'] !== undefined && headers['sec-fetch-site'] === undefined
  return /^(?:GET|HEAD)$/.test(method) && !isNode
}

/** Why a request cannot be a delivery: a web page sent it, or it names another server. */
function refusalOf(request: IncomingMessage) {
  const { url = '/', headers } = request
  if (!url.startsWith('/')) return { status: 400, reason: 'its target is not a path' }
  const { origin, host = '' } = headers
  const isLocal = loopbackHost.test(host)
  // A name of a stranger may lead to this machine, and its pages be of the same origin.
  const isOwn = isLocal && URL.canParse(origin ?? '') && new URL(origin ?? '').host === host
  // An image or a form of a page need not send an Origin.
  const isForeign = /^(?:cross|same)-site$/.test(String(headers['sec-fetch-site']))
  const isPage = !isLocal && isOfPage(request)
  return (origin === undefined || isOwn) && !isForeign && !isPage
    ? undefined
    : { status: 403, reason: 'a web page of another origin sent it' }
}

const hopByHop = /^(connection|transfer-encoding|content-length|keep-alive)$/i

/** Returns the response of the app unchanged: every header in its order and spelling, every byte. */
function forward({ status, rawHeaders, body }: Answer, response: ServerResponse): void {
  const headers = rawHeaders.filter(([name]) => !hopByHop.test(name))
  response.sendDate = !headers.some(([name]) => /^date$/i.test(name))
  response.writeHead(status === 0 ? 502 : status, [
    ...headers.flat(),
    'Content-Length',
    String(body.length),
  ])
  response.end(body)
}

function urlOf(request: IncomingMessage): string {
  const protocol = String(request.headers['x-forwarded-proto'] ?? 'http').split(',', 1)[0]
  return `${protocol?.trim()}://${request.headers.host ?? 'localhost'}${request.url ?? '/'}`
}

function forwarded(request: IncomingMessage, arrival: Arrival, options: RecorderOptions) {
  if (options.to === undefined) return undefined
  const url = onwardUrl(request.url ?? '/', options.to)
  const headers = [...arrival.headers, ...passedOn(request)]
  return deliver({ ...arrival, headers, url }, { ...options, mostBytes: Number.POSITIVE_INFINITY })
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
const loopbackAddress = /^(?:127\.|::1$|::ffff:127\.)/

/**
 * Headers that tell the app who asked, and under which name: forwarding replaces the Host header and
 * the address. An app that answers loopback alone refuses others by them.
 */
function passedOn({ headers, socket }: IncomingMessage): [name: string, value: string][] {
  const { host = 'localhost' } = headers
  const { remoteAddress = '' } = socket
  return [
    ...(loopbackHost.test(host) ? [] : ([['X-Forwarded-Host', host]] as [string, string][])),
    ...(loopbackAddress.test(remoteAddress)
      ? []
      : ([['X-Forwarded-For', remoteAddress]] as [string, string][])),
  ]
}

/**
 * A bare host gets the path of the request; an address with a path gets every request there. The
 * query of the request follows that of the address.
 */
function onwardUrl(requested: string, to: string): string {
  const onward = new URL(to)
  // Not by new URL(): it would take a path that begins with // for a host.
  const at = requested.indexOf('?')
  const path = at === -1 ? requested : requested.slice(0, at)
  const query = [onward.search.slice(1), at === -1 ? '' : requested.slice(at + 1)]
  const search = query.filter((one) => one !== '').join('&')
  const isBare = onward.pathname === '/'
  return `${onward.origin}${isBare ? path : onward.pathname}${search === '' ? '' : `?${search}`}`
}
