// Sends one delivery over HTTP unchanged: every header in its order and spelling, every byte.

import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { defined } from '../../src/foundation/defined.ts'
import { decodeUtf8, parseJson } from '../../src/foundation/json.ts'

export type RawHeaders = readonly (readonly [name: string, value: string])[]

/** Node's raw headers as pairs in their order and spelling; repeated headers stay repeated. */
export function headerPairs(raw: readonly string[]): RawHeaders {
  return raw.flatMap((name, at, all) => (at % 2 === 0 ? [[name, all[at + 1] ?? ''] as const] : []))
}

export interface Shipment {
  readonly url: string
  readonly method?: string
  /** Headers of the connection are added. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
  /** Sends the body in these pieces, without a Content-Length. */
  readonly chunks?: readonly Uint8Array[]
}

export interface DeliveryAnswer {
  /** 0 without a response. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The headers in the order and spelling of the response, repeated ones included. */
  readonly rawHeaders: RawHeaders
  /** Up to `maxBytes` of it. */
  readonly body: Uint8Array
  readonly milliseconds: number
  /** ECONNREFUSED, TIMEOUT and the like. */
  readonly error?: string
}

export interface DeliverOptions {
  readonly timeout: number
  readonly signal: AbortSignal
  /** The bytes of the response body to keep; 64 KiB by default. */
  readonly maxBytes?: number
}

const transport = /^(content-length|host|connection|transfer-encoding|keep-alive|expect)$/i

/** Sends and waits for the whole response; a network error is an answer with status 0. */
export function deliver(shipment: Shipment, options: DeliverOptions): Promise<DeliveryAnswer> {
  const started = performance.now()
  const { maxBytes = 64 * 1024 } = options
  const { promise, resolve, reject } = Promise.withResolvers<DeliveryAnswer>()
  const settle = (answer: Partial<DeliveryAnswer>) =>
    resolve({
      status: 0,
      headers: {},
      rawHeaders: [],
      body: new Uint8Array(),
      milliseconds: performance.now() - started,
      ...answer,
    })
  const { url, method = 'POST', body, chunks } = shipment
  const start = url.startsWith('https:') ? requestHttps : requestHttp
  const request = start(url, { method, headers: rawHeaders(shipment), signal: options.signal })
  const timer = setTimeout(
    () => request.destroy(Object.assign(new Error('timeout'), { code: 'TIMEOUT' })),
    options.timeout * 1000,
  )
  request.on('response', (response) => {
    const kept: Buffer[] = []
    let bytes = 0
    response.on('data', (part: Buffer) => {
      if (bytes < maxBytes) kept.push(part)
      bytes += part.length
    })
    response.on('error', (error) => settle({ error: codeOf(error) }))
    response.on('end', () => {
      settle({ ...headOf(response), body: Buffer.concat(kept).subarray(0, maxBytes) })
      // The response came before the body was read: the server will not read the rest.
      if (!request.writableFinished) request.destroy()
    })
  })
  request.on('upgrade', (response, socket) => {
    socket.destroy()
    settle(headOf(response))
  })
  request.on('error', (error) => {
    if (options.signal.aborted) reject(error)
    else settle({ error: codeOf(error) })
  })
  for (const chunk of chunks ?? [body]) request.write(chunk)
  request.end()
  return promise.finally(() => clearTimeout(timer))
}

function headOf({ statusCode = 0, headers, rawHeaders: raw }: IncomingMessage) {
  const joined = Object.entries(headers).map(([name, value]) => [name, String(value)])
  return {
    status: statusCode,
    headers: Object.fromEntries(joined) as Record<string, string>,
    rawHeaders: headerPairs(raw),
  }
}

function rawHeaders({ url, headers, body, chunks, method }: Shipment): string[] {
  const own = headers.filter(([name]) => !transport.test(name))
  const bodiless = body.length === 0 && /^(GET|HEAD|DELETE|OPTIONS)$/.test(method ?? '')
  const length = chunks ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', `${body.length}`]
  return ['Host', new URL(url).host, ...own.flat(), ...(bodiless ? [] : length)]
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name
}

export interface AnswerOutcome {
  readonly outcome?: string
  readonly code?: string
}

/** A word as receivers write it; a longer text is the app's own. */
function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w .-]{1,64}$/.test(value) ? value : undefined
}

/** Reads `outcome` and `code` from a response; both are missing in other bodies. */
export function outcomeOf({ body }: Pick<DeliveryAnswer, 'body'>): AnswerOutcome {
  const { outcome, code } = fieldsIn(body)
  return defined({ outcome: wordOf(outcome), code: wordOf(code) })
}

/** The fields of a body that is a JSON object. */
export function fieldsIn(body: Uint8Array): Readonly<Record<string, unknown>> {
  return Object(parseJson(decodeUtf8(body) ?? '')?.value)
}
