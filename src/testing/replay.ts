// Runs captures through a receiver, a mounted app or a running server, and reports an outcome for
// each. It opens a port only for apps that take node:http requests.

import type { RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Delivery, HeaderList } from '../delivery.ts'
import { isWebhookError } from '../errors.ts'
import { checkOptionNames, checkWholeNumber, invalid, kindShown } from '../foundation/check.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import type { Outcome } from '../outcome/outcome.ts'
import { toReply } from '../outcome/reply.ts'
import { type Scheme, schemes } from '../protocol/scheme.ts'
import { type SecretInput, testSecret } from '../signature/secrets.ts'
import { type Capture, type ReadCapture, readCapture } from './capture.ts'
import { signBody } from './signed-delivery.ts'

/** A listener as node:http, Express and Connect take it. */
export type NodeListener = (request: never, response: never, next?: never) => unknown

/** The targets that captures can be replayed to. */
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
  /** The path where an app or a receiver takes deliveries; by default the path of each capture. */
  readonly path?: string
  /**
   * Signs every capture again, as a sender would now; by default only captures whose signed time
   * has passed. A capture that was rejected is sent as it is, so that it is rejected again.
   */
  readonly secret?: SecretInput
  readonly scheme?: Scheme
  /** The number that run at a time; 1 by default, which keeps their order. */
  readonly concurrency?: number
  readonly now?: Clock
  readonly signal?: AbortSignal
  /** Called after each capture. */
  readonly onResult?: (result: ReplayResult) => void
}

const names: readonly (keyof ReplayOptions)[] = [
  ...(['path', 'secret', 'scheme', 'concurrency', 'now', 'signal', 'onResult'] as const),
]

/** The result of one capture. */
export interface ReplayResult {
  /** Its place in the list, from 0. */
  readonly index: number
  /** The HTTP status; for a receiver, the status that it would answer. */
  readonly status: number
  /** The outcome's kind, if the reply has it. */
  readonly outcome?: string
  /** The outcome's code, if it was rejected or failed. */
  readonly code?: string
  /** The whole outcome, if the target is a receiver. */
  readonly detail?: Outcome
  /** Why there was no reply. */
  readonly error?: unknown
}

/** The results of all captures. */
export interface ReplayReport {
  readonly results: readonly ReplayResult[]
  readonly taken: number
  readonly refused: number
  readonly failed: number
}

type Send = (request: {
  delivery: ReadCapture['delivery']
  method: string
  path: string
}) => Promise<Omit<ReplayResult, 'index'>>

/**
 * Runs captures and reports an outcome for each.
 *
 * @throws WebhookError `OPTION_INVALID` for an unknown kind of target, `CAPTURE_INVALID`
 * @example const { results } = await replay(receiver, [readFileSync('approved.json', 'utf8')])
 */
export async function replay(
  target: ReplayTarget,
  captures: readonly (Capture | string | unknown)[],
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  checkOptionNames('replay', options, names)
  const { concurrency = 1, signal, onResult } = options
  checkWholeNumber('concurrency', concurrency)
  if (!Array.isArray(captures)) {
    throw invalid(
      `replay needs a list of captures, replay(target, [one]), got ${kindShown(captures)}`,
    )
  }
  const left = captures.map(readAt).entries()
  const way = await connect(target)
  const results: ReplayResult[] = []
  const work = async () => {
    for (const [index, one] of left) {
      signal?.throwIfAborted()
      const delivery = await prepared(placed(one, options.path, way), options)
      const path = pathOf(options.path ?? delivery.url)
      const sent = way.send({ delivery, method: one.method, path })
      const answer = await sent.catch((error: unknown) => ({ status: 0, error }))
      results[index] = { index, ...answer }
      onResult?.({ index, ...answer })
    }
  }
  try {
    await Promise.all(Array.from({ length: concurrency }, work))
  } finally {
    await way.close?.()
  }
  const count = (hundreds: number) =>
    results.filter(({ status }) => Math.floor(status / 100) === hundreds).length
  const [taken, refused] = [count(2), count(4)]
  return { results, taken, refused, failed: results.length - taken - refused }
}

function readAt(one: unknown, index: number): ReadCapture {
  try {
    return readCapture(one)
  } catch (cause) {
    if (!isWebhookError(cause)) throw cause
    throw invalid(`captures[${index}]: ${cause.reason}`, cause.code, { cause })
  }
}

/** A capture with the address that the target sees, if that differs from the captured one. */
interface Placed extends ReadCapture {
  readonly isElsewhere?: true
}

/**
 * Gives a capture the address that the target will see: a receiver reads its path, and a scheme may
 * sign it.
 */
function placed(one: ReadCapture, path: string | undefined, { addressOf }: ResolvedTarget): Placed {
  const { url = '', headers } = one.delivery
  const place = path === undefined ? undefined : rooted(path)
  if (addressOf) {
    // The captured headers of a proxy would be wrong here.
    const own = headers.filter(([name]) => name !== 'x-forwarded-proto')
    const address = addressOf(place ?? pathOf(url))
    return { ...one, delivery: { ...one.delivery, url: address, headers: own }, isElsewhere: true }
  }
  if (place === undefined) return one
  const moved = new URL(place, URL.canParse(url) ? url : 'http://app.test').href
  return { ...one, delivery: { ...one.delivery, url: moved } }
}

/** Signs again if the caller asks for it, or if the signed time or address has changed. */
async function prepared(one: Placed, options: ReplayOptions): Promise<ReadCapture['delivery']> {
  const scheme = options.scheme ?? one.scheme ?? schemes.service()
  const isMoved = one.isElsewhere && signsAddress(scheme)
  const isOver = one.redacted && (scheme.tolerance !== 'none' || isMoved)
  const secret = options.secret ?? (isOver ? testSecret : undefined)
  if (secret === undefined || one.verified === false) return one.delivery
  // A capture file must not make replay send the secret itself, nor choose its header.
  if (scheme.authenticity === 'token' && options.secret && !options.scheme) {
    throw invalid(`a capture sends the secret itself, as ${scheme.header}: pass scheme to do so`)
  }
  const { url, body, headers } = one.delivery
  const now = options.now ?? systemClock
  const signed = await signBody(body, {
    ...defined({ secret, scheme, now, url, id: idOf(headers, scheme), method: one.method }),
    headers: Object.fromEntries(headers),
  })
  const others = headers.filter(([name]) => !Object.hasOwn(signed.headers, name))
  const both = [...others, ...Object.entries(signed.headers)]
  return { ...one.delivery, receivedAt: now(), body: signed.body, headers: both }
}

/** The captured id: with a new id, an inbox would not recognize a delivery that it has. */
function idOf(headers: HeaderList, { id }: Scheme): string | undefined {
  return id && headers.find(([name]) => name === id.header.toLowerCase())?.[1]
}

const signsAddress = ({ template }: Scheme) =>
  template.some((part) => 'value' in part && part.value === 'url')

interface ResolvedTarget {
  readonly send: Send
  /** Returns the target's own address for a path. */
  readonly addressOf?: (path: string) => string
  readonly close?: () => unknown
}

async function connect(target: ReplayTarget): Promise<ResolvedTarget> {
  if (typeof target === 'string' || target instanceof URL) {
    const address = String(target)
    return { send: overFetch((request) => fetch(request)), addressOf: () => address }
  }
  if (typeof target === 'function') {
    if (target.length >= 2) return overNode(target as NodeListener)
    return { send: overFetch(target as (request: Request) => Promise<Response>) }
  }
  if (typeof target === 'object' && target !== null) {
    if ('receive' in target) return { send: throughReceiver(target) }
    if ('inject' in target) return { send: throughInject(target) }
    if ('callback' in target) return overNode(target.callback())
    if ('fetch' in target) return { send: overFetch(async (request) => target.fetch(request)) }
  }
  throw invalid(
    `replay needs a receiver, an app, a request handler or an address, got ${kindShown(target)}`,
  )
}

function throughReceiver(receiver: { receive(delivery: Delivery): Promise<Outcome> }): Send {
  return async ({ delivery }) => {
    const detail = await receiver.receive(delivery)
    const code = 'code' in detail ? detail.code : undefined
    return defined({ status: toReply(detail).status, outcome: detail.kind, code, detail })
  }
}

function throughInject(app: {
  inject(request: never): PromiseLike<{ statusCode: number; body: string }>
}): Send {
  return async ({ delivery, method, path }) => {
    // Anything but a Buffer would be written as JSON.
    const payload = Buffer.from(delivery.body)
    const given = { ...Object.fromEntries(delivery.headers), ...originHeaders(delivery.url) }
    const request = { method, url: path, headers: given, payload }
    const { statusCode, body } = await app.inject(request as never)
    return { status: statusCode, ...parseReply(body) }
  }
}

/** The transport sets lengths and hosts itself. */
const transportHeaders =
  /^(content-length|host|connection|transfer-encoding|keep-alive|expect|upgrade)$/

function overFetch(send: (request: Request) => Promise<Response>): Send {
  return async ({ delivery, method, path }) => {
    const own = delivery.headers.filter(([name]) => !transportHeaders.test(name))
    const { url: address = '' } = delivery
    const url = URL.canParse(address) ? address : new URL(path, 'http://app.test').href
    // A GET was captured too, and cannot have a body.
    const body = /^(GET|HEAD)$/.test(method) ? null : new Uint8Array(delivery.body)
    // Senders do not follow redirects, and a raw capture must not go on to another host.
    const init = { method, headers: own as [string, string][], body, redirect: 'manual' } as const
    const request = new Request(url, init)
    const response = await send(request)
    return { status: response.status, ...parseReply(await response.text()) }
  }
}

async function overNode(listener: NodeListener): Promise<ResolvedTarget> {
  const { url, close } = await listen(answering(listener))
  const addressOf = (path: string) => addressAt(url, path)
  return { send: overFetch((one) => fetch(one)), addressOf, close }
}

/** A server on a free loopback port. The module loads on runtimes without node:http too. */
export async function listen(listener: unknown) {
  const { createServer } = await import('node:http')
  // Express, Connect and Koa each have their own type for the same request.
  const server = createServer(listener as RequestListener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  return { url: `http://127.0.0.1:${port}`, close }
}

/** Wraps the listener: if it throws or rejects, the answer is 500 and the process goes on. */
function answering(listener: NodeListener) {
  return async (request: never, response: ServerResponse) => {
    try {
      await listener(request, response as never)
    } catch {
      if (!response.headersSent) response.statusCode = 500
      response.end()
    }
  }
}

/** Reads the outcome from the body of a reply. */
function parseReply(body: string): Pick<ReplayResult, 'outcome' | 'code'> {
  try {
    const { outcome, code } = JSON.parse(body) as { outcome?: unknown; code?: unknown }
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
    return defined({ outcome: text(outcome), code: text(code) })
  } catch {
    return {}
  }
}

/** Path and query. */
function pathOf(url = '/'): string {
  if (!URL.canParse(url)) return rooted(url)
  const { pathname, search } = new URL(url)
  return rooted(pathname + search)
}

/**
 * Two slashes would name a host, and a capture must not go there. Addresses are read without their
 * tabs and line breaks, which may stand between the two.
 */
const rooted = (path: string) => `/${path.replaceAll(/[\t\n\r]/g, '').replace(/^[/\\]+/, '')}`

/** The address of a path at a host, which stands before it: no path can name another. */
const addressAt = (host: string, path: string) => new URL(new URL(host).origin + rooted(path)).href

/** The address that a scheme may have signed, as a proxy in front would state it. */
function originHeaders(url = '') {
  if (!URL.canParse(url)) return {}
  const { host, protocol } = new URL(url)
  return { host, 'x-forwarded-proto': protocol.slice(0, -1) }
}
