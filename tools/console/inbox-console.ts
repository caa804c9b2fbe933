// The console of an inbox, to be mounted in the user's own app. It decides who may ask; what the
// pages read and do lies in inbox-routes.ts.

import { isWebhookError } from '../../src/errors.ts'
import { readStream } from '../../src/foundation/bytes.ts'
import {
  checkFunction,
  checkMilliseconds,
  checkOptionNames,
  invalid,
} from '../../src/foundation/check.ts'
import { steadyClock, systemClock } from '../../src/foundation/clock.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import { createActivityLog, type TellActivity } from './activity.ts'
import { type InboxRoute, inboxRoutes } from './inbox-routes.ts'
import { createInboxStream } from './inbox-stream.ts'
import { admitByKey } from './key.ts'
import { type NodeListener, toNodeListener } from './node-listener.ts'
import { hostOf, isForeign, isLoopback, isPassedOn } from './own-site.ts'
import { assetResponse, pageResponse, refusalResponse, safeHeaders } from './page.ts'
import { ConsoleRefusal } from './refusal.ts'
import { bringsToken, tokenCookie, tokenOf } from './token.ts'

/** Options of `inboxConsole`. */
export interface InboxConsoleOptions {
  /**
   * Lets a request in: true, or the name of who asks, which is then recorded with what they do.
   * `'loopback'` admits only requests from this machine; over `fetch`, which tells no address, it
   * takes a key that the process shows in its terminal.
   */
  readonly authorize:
    | 'loopback'
    | ((request: Request) => boolean | string | Promise<boolean | string>)
  /** The path at which it is mounted, where the framework does not take it away; `/` by default. */
  readonly basePath?: string | undefined
  /** Shows everything and changes nothing. */
  readonly readOnly?: boolean | undefined
  /** Stands in the page's title; `Inbox` by default. */
  readonly title?: string | undefined
  /**
   * Hears of every reveal and every change, for your own audit log. A reveal waits for it, and shows
   * nothing where it fails.
   */
  readonly onActivity?: TellActivity | undefined
  /** Milliseconds between two looks at the inbox while somebody watches; 1000 by default. */
  readonly interval?: number | undefined
}

/** The console as a handler of web requests, and as a listener of Node's. */
export interface InboxConsole {
  readonly fetch: (request: Request) => Promise<Response>
  readonly node: NodeListener
}

/**
 * Pages to look into an inbox: what arrived and what became of it, with redrive, replay, dismiss
 * and forget.
 *
 * @throws WebhookError `OPTION_INVALID` without `authorize`, or with `'loopback'` in production
 * @example
 * app.use('/inbox', inboxConsole(inbox, { authorize: (request) => isOperator(request) }).node)
 */
export function inboxConsole(inbox: Inbox, options: InboxConsoleOptions): InboxConsole {
  checkOptions(inbox, options)
  const { readOnly = false, title = 'Inbox', interval = 1000, onActivity } = options
  const activity = createActivityLog(systemClock, onActivity)
  const routes = inboxRoutes({ inbox, activity, now: systemClock })
  const stream = createInboxStream(inbox, interval)
  const ownBase = trimmed(options.basePath ?? '')

  const loopbackOnly = options.authorize === 'loopback'

  const answer = async (request: Request, mount: string | undefined): Promise<Response> => {
    const by = await admitted(request, options)
    const { pathname, searchParams: query } = new URL(request.url)
    const base = mount || ownBase
    const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname
    const isPage = request.method === 'GET' && /^\/?$/.test(path)
    if (loopbackOnly && mount === undefined) {
      const opened = admitByKey(request, { base, isPage, now: steadyClock().getTime() })
      if (opened) return opened
    }
    if (isPage) return document(request, { door: 'inbox', title, base, readOnly })
    // Nobody reads the answer there, but its cost and its time would tell.
    if (path.startsWith('/api/')) refuseForeign(request)
    const asset = request.method === 'GET' ? await assetResponse(path.slice(1)) : undefined
    if (asset) return asset
    if (path === '/api/events' && request.method === 'GET') return stream.open(request.signal)
    const { route, params } = routeOf(routes, request.method, path)
    if (request.method !== 'GET') refuseForged(request)
    if (route.changes && readOnly) {
      throw new ConsoleRefusal(
        403,
        'READ_ONLY',
        'This console shows everything and changes nothing',
      )
    }
    const body = request.method === 'GET' ? {} : await bodyOf(request)
    return Response.json(await route.answer({ params, query, body, by }))
  }
  const handle = async (request: Request, mount?: string): Promise<Response> => {
    const response = await answer(request, mount).catch((error) => refused(error, request))
    for (const [name, value] of Object.entries(safeHeaders)) response.headers.set(name, value)
    // What a cache on the way keeps would be shown to others.
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store')
    return response
  }
  return { fetch: (request) => handle(request), node: toNodeListener(handle, { loopbackOnly }) }
}

const names = ['authorize', 'basePath', 'readOnly', 'title', 'onActivity', 'interval']

function checkOptions(inbox: Inbox, options: InboxConsoleOptions): void {
  if (typeof inbox?.find !== 'function') {
    throw invalid('inboxConsole: `inbox` must be created with createInbox({ store })')
  }
  checkOptionNames('inboxConsole', options ?? {}, names)
  const { authorize, onActivity, interval } = options ?? {}
  if (authorize === undefined) {
    throw invalid(
      "inboxConsole: `authorize` is required: pass (request) => boolean, or 'loopback' on your own machine",
    )
  }
  if (authorize !== 'loopback') checkFunction('authorize', authorize, '(request) => boolean')
  else if (isProduction()) {
    throw invalid(
      "inboxConsole: `authorize` must be a function in production, got 'loopback': people behind a proxy look like loopback there. Pass authorize: process.env.NODE_ENV === 'production' ? (request) => … : 'loopback'",
    )
  }
  if (onActivity !== undefined) checkFunction('onActivity', onActivity, '(activity) => {}')
  if (interval !== undefined) checkMilliseconds('interval', interval, 100)
}

function isProduction(): boolean {
  try {
    return globalThis.process?.env?.NODE_ENV === 'production'
  } catch {
    // Deno without --allow-env; over fetch a key is needed in any case.
    return false
  }
}

/** Returns who asks, or throws if they are not allowed. */
async function admitted(
  request: Request,
  { authorize }: InboxConsoleOptions,
): Promise<string | undefined> {
  if (authorize === 'loopback') {
    if (!isLoopback(hostOf(request))) {
      const message = 'The Host header does not name this machine: open the console at localhost'
      throw new ConsoleRefusal(403, 'HOST_REFUSED', message)
    }
    if (isPassedOn(request)) {
      const message = 'A proxy or tunnel passed this request on: open the console at localhost'
      throw new ConsoleRefusal(403, 'FORBIDDEN', message)
    }
    return undefined
  }
  const verdict = await verdictOf(authorize, request)
  if (verdict === true) return undefined
  if (typeof verdict === 'string' && verdict !== '') return verdict
  const message =
    'You are not allowed to see this inbox: sign in to the application first; its option `authorize` decides'
  throw new ConsoleRefusal(403, 'FORBIDDEN', message)
}

async function verdictOf(authorize: (request: Request) => unknown, request: Request) {
  try {
    return await authorize(request)
  } catch {
    const message = 'Could not check whether you may see this inbox'
    throw new ConsoleRefusal(503, 'AUTHORIZE_FAILED', message)
  }
}

/** A page of another site may ask for nothing; who types an address may. */
function refuseForeign(request: Request): void {
  const isTyped = request.method === 'GET' && request.headers.get('sec-fetch-site') === 'none'
  if (isTyped || !isForeign(request)) return
  throw new ConsoleRefusal(403, 'ORIGIN_REFUSED', 'The request comes from another site')
}

/** A change must come from a page of this console, with its token. */
function refuseForged(request: Request): void {
  if (bringsToken(request)) return
  throw new ConsoleRefusal(403, 'TOKEN_MISSING', 'This page is out of date: reload it')
}

function document(request: Request, config: Parameters<typeof pageResponse>[0]): Response {
  const { token, fresh } = tokenOf(request)
  const response = pageResponse(config, token)
  if (fresh) response.headers.append('set-cookie', tokenCookie(request, token))
  return response
}

function routeOf(routes: readonly InboxRoute[], method: string, path: string) {
  const below = path.startsWith('/api/') ? path.slice('/api'.length) : ''
  for (const route of routes) {
    const match = route.method === method ? route.path.exec(below) : null
    const params = match && decoded(match.slice(1))
    if (params) return { route, params }
  }
  throw new ConsoleRefusal(404, 'NOT_FOUND', 'Path not found')
}

/** Undefined where one is malformed: no id is. */
function decoded(params: readonly string[]): readonly string[] | undefined {
  try {
    return params.map(decodeURIComponent)
  } catch {
    return undefined
  }
}

const maxBody = 65_536
const longestBodyMs = 10_000

async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const signal = AbortSignal.timeout(longestBodyMs)
  const bytes = await readStream(request.body, { most: maxBody, signal }).catch(() => undefined)
  if (bytes === undefined) throw badBody()
  if (bytes.length === 0) return {}
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (typeof json === 'object' && json !== null) return json as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw badBody()
}

function badBody(): ConsoleRefusal {
  return new ConsoleRefusal(400, 'BAD_REQUEST', 'The body must be a small JSON object')
}

function refused(error: unknown, request: Request): Response {
  const { status, code, message } =
    error instanceof ConsoleRefusal
      ? error
      : isWebhookError(error) && error.code === 'OPTION_INVALID'
        ? { status: 400, code: error.code, message: error.reason }
        : {
            status: 503,
            code: 'STORE_UNAVAILABLE',
            message: 'The inbox is not available right now',
          }
  if (request.headers.get('accept')?.includes('text/html')) {
    return refusalResponse({ status, message })
  }
  return Response.json({ code, message, statusCode: status }, { status })
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '')
}
