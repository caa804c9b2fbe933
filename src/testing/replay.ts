// Runs captures through a receiver, a mounted app or a running server, and tells what became of
// each. Needs a port only for apps that speak node:http.

import { checkOptionNames } from '../check.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Delivery, HeaderList } from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import { type Outcome, toReply } from '../outcome.ts'
import { type Scheme, schemes } from '../protocol/scheme.ts'
import type { SecretInput } from '../signature/secrets.ts'
import { sign } from '../signature/signature.ts'
import { type Capture, readCapture } from './capture.ts'
import { testSecret } from './test-secret.ts'

/** A listener as node:http, Express and Connect take it. */
export type NodeListener = (request: never, response: never, next?: never) => unknown

/** What captures can be run through. */
export type ReplayTarget =
  | string
  | URL
  | { receive(delivery: Delivery): Promise<Outcome> }
  | { inject(request: never): PromiseLike<{ statusCode: number; body: string }> }
  | { fetch(request: Request): Response | Promise<Response> }
  | { callback(): NodeListener }
  | NodeListener
  | ((request: Request) => Promise<Response>)

/** Options of `replay`. */
export interface ReplayOptions {
  /** Where an app takes deliveries; by default the path of each capture. */
  readonly path?: string
  /**
   * Signs every capture anew, as a sender would now; otherwise only what could not hold. One that
   * was captured as refused goes as it is, so that it is refused again.
   */
  readonly secret?: SecretInput
  readonly scheme?: Scheme
  /** How many at a time; 1 by default, which keeps their order. */
  readonly concurrency?: number
  readonly now?: Clock
  readonly signal?: AbortSignal
  /** Called after each capture. */
  readonly onResult?: (result: ReplayResult) => void
}

const names: readonly (keyof ReplayOptions)[] = [
  'path',
  'secret',
  'scheme',
  'concurrency',
  'now',
  'signal',
  'onResult',
]

/** What became of one capture. */
export interface ReplayResult {
  /** Its place in the list, from 0. */
  readonly index: number
  /** The HTTP status; a receiver's is what it would answer. */
  readonly status: number
  /** The outcome's kind, where the answer tells it. */
  readonly outcome?: string
  /** The outcome's code, where it was not taken. */
  readonly code?: string
  /** The whole outcome, where the target is a receiver. */
  readonly detail?: Outcome
  /** Why there was no answer at all. */
  readonly error?: unknown
}

/** What became of all captures. */
export interface ReplayReport {
  readonly results: readonly ReplayResult[]
  readonly taken: number
  readonly refused: number
  readonly failed: number
}

type Send = (request: {
  delivery: Delivery
  headers: HeaderList
  method: string
  path: string
}) => Promise<Omit<ReplayResult, 'index'>>

/**
 * Runs captures and reports an outcome for each.
 *
 * @throws WebhookError `OPTION_INVALID` for a target of no known kind, `CAPTURE_INVALID`
 * @example const { results } = await replay(receiver, [JSON.parse(readFileSync('approved.json'))])
 */
export async function replay(
  target: ReplayTarget,
  captures: readonly (Capture | string | unknown)[],
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  checkOptionNames('replay', options, names)
  if (!Array.isArray(captures)) {
    throw new WebhookError(
      'OPTION_INVALID',
      'replay needs a list of captures: replay(target, [one])',
    )
  }
  const read = captures.map((one) => readCapture(one))
  const { send, close } = await connect(target)
  const results: ReplayResult[] = []
  const left = read.entries()
  const work = async () => {
    for (const [index, one] of left) {
      options.signal?.throwIfAborted()
      const delivery = await prepared(one, options)
      const headers = delivery.headers as HeaderList
      const path = options.path ?? pathOf(delivery.url)
      const answer = await send({ delivery, headers, method: one.method, path }).catch(
        (error: unknown) => ({ status: 0, error }),
      )
      results[index] = { index, ...answer }
      options.onResult?.({ index, ...answer })
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.max(1, options.concurrency ?? 1) }, work))
  } finally {
    await close()
  }
  const count = (least: number, most: number) =>
    results.filter(({ status }) => status >= least && status <= most).length
  const [taken, refused] = [count(200, 299), count(400, 499)]
  return { results, taken, refused, failed: results.length - taken - refused }
}

/** Signs anew where asked to, or where the time that was signed lies too far back by now. */
async function prepared(one: ReturnType<typeof readCapture>, options: ReplayOptions) {
  const scheme = options.scheme ?? one.scheme ?? schemes.service()
  const timed = one.redacted && scheme.tolerance !== 'none'
  const secret = options.secret ?? (timed ? testSecret : undefined)
  if (secret === undefined || one.verified === false) return one.delivery
  const { url, body, headers } = one.delivery
  const now = options.now ?? systemClock
  const signed = await sign(body, { secret, scheme, now, ...(url !== undefined && { url }) })
  const others = headers.filter(([name]) => !Object.hasOwn(signed, name))
  return { ...one.delivery, receivedAt: now(), headers: [...others, ...Object.entries(signed)] }
}

function pathOf(url = '/'): string {
  return URL.canParse(url) ? new URL(url).pathname : url
}

async function connect(target: ReplayTarget): Promise<{ send: Send; close: () => unknown }> {
  const close = () => {}
  if (typeof target === 'string' || target instanceof URL) {
    return { send: overFetch((request) => fetch(request), String(target)), close }
  }
  if ((typeof target !== 'object' && typeof target !== 'function') || target === null) {
    throw noTarget()
  }
  if ('receive' in target) return { send: throughReceiver(target), close }
  if ('inject' in target) return { send: throughInject(target), close }
  if ('callback' in target) return overNode(target.callback())
  if ('fetch' in target) {
    return { send: overFetch(async (request) => target.fetch(request)), close }
  }
  if (typeof target !== 'function') {
    throw noTarget()
  }
  if (target.length >= 2) return overNode(target as NodeListener)
  return { send: overFetch(target as (request: Request) => Promise<Response>), close }
}

function noTarget(): WebhookError {
  return new WebhookError(
    'OPTION_INVALID',
    'replay needs a receiver, an app, a request handler or an address',
  )
}

function throughReceiver(receiver: { receive(delivery: Delivery): Promise<Outcome> }): Send {
  return async ({ delivery }) => {
    const detail = await receiver.receive(delivery)
    const code = 'code' in detail ? { code: detail.code } : {}
    return { status: toReply(detail).status, outcome: detail.kind, ...code, detail }
  }
}

function throughInject(app: {
  inject(request: never): PromiseLike<{ statusCode: number; body: string }>
}): Send {
  return async ({ delivery, headers, method, path }) => {
    // Anything but a Buffer would be written as JSON.
    const payload = Buffer.from(delivery.body)
    const request = { method, url: path, headers: Object.fromEntries(headers), payload }
    const { statusCode, body } = await app.inject(request as never)
    return { status: statusCode, ...told(body) }
  }
}

function overFetch(send: (request: Request) => Promise<Response>, address?: string): Send {
  return async ({ delivery, headers, method, path }) => {
    // Lengths and hosts are the transport's own.
    const own = headers.filter(
      ([name]) => !/^(content-length|host|connection|transfer-encoding)$/.test(name),
    )
    const url = address ?? new URL(path, 'http://app.test').href
    const body = new Uint8Array(delivery.body)
    const response = await send(
      new Request(url, { method, headers: own as [string, string][], body }),
    )
    return { status: response.status, ...told(await response.text()) }
  }
}

async function overNode(listener: NodeListener): Promise<{ send: Send; close: () => unknown }> {
  const { listen } = await import('./listen.ts')
  const { url, close } = await listen(listener)
  const send: Send = (request) =>
    overFetch((one) => fetch(one), new URL(request.path, url).href)(request)
  return { send, close }
}

/** What an answer's body says of the outcome. */
function told(body: string): { outcome?: string; code?: string } {
  try {
    const { outcome, code } = JSON.parse(body) as { outcome?: unknown; code?: unknown }
    return {
      ...(typeof outcome === 'string' && { outcome }),
      ...(typeof code === 'string' && { code }),
    }
  } catch {
    return {}
  }
}
