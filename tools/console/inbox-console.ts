// The console of an inbox, to be mounted in the user's own app. It decides who may ask;
// inbox-routes.ts has what the pages read and do.
import { type Context, Hono } from 'hono'
import { html } from 'hono/html'
import { streamSSE } from 'hono/streaming'
import { isWebhookError } from '../../src/errors.ts'
import {
  checkFunction,
  checkMilliseconds,
  checkOptionNames,
  invalid,
} from '../../src/foundation/check.ts'
import { steadyClock, systemClock } from '../../src/foundation/clock.ts'
import { parseJson } from '../../src/foundation/json.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import { admitByKey, ConsoleRefusal, hasToken, refuseForeign, refuseRemote } from './access.ts'
import {
  type ConsoleEnv,
  createActivityLog,
  inboxRoutes,
  type TellActivity,
} from './inbox-routes.ts'
import type { Mounted, MountedListener } from './node-listener.ts'
import { assetResponse, htmlResponse, pageResponse, setSafeHeaders } from './page.ts'

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
  /** Milliseconds between two reads of the inbox while a page is open; 1000 by default. */
  readonly interval?: number | undefined
}

/** The console as a handler of web requests, and as a listener of Node's. */
export interface InboxConsole {
  readonly fetch: (request: Request) => Promise<Response>
  readonly node: MountedListener
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
  const app = createApp(inbox, options)
  const ownBase = (options.basePath ?? '').replace(/\/+$/, '')
  const fetch = async (request: Request) =>
    app.fetch(request, { base: ownBase, isServing: () => true })
  const handle = async (request: Request, { mount, isServing }: Mounted) =>
    app.fetch(request, { base: mount || ownBase, hasAddress: true, isServing })
  const loopbackOnly = options.authorize === 'loopback'
  let listener: Promise<MountedListener> | undefined
  const node: MountedListener = async (request, response) => {
    listener ??= import('./node-listener.ts').then(({ toNodeListener }) =>
      toNodeListener(handle, { loopbackOnly }),
    )
    return (await listener)(request, response)
  }
  return { fetch, node }
}

type ConsoleContext = Context<ConsoleEnv>

function createApp(inbox: Inbox, options: InboxConsoleOptions): Hono<ConsoleEnv> {
  const { readOnly = false, title = 'Inbox', interval = 1000, onActivity } = options
  const stream = createInboxStream(inbox, interval)
  const app = new Hono<ConsoleEnv>({ getPath: pathIn })
  app.use(setSafeHeaders)
  app.use(async (context, next) => {
    if (!['GET', 'POST'].includes(context.req.method)) throw notFound()
    context.set('by', await admitted(context.req.raw, options))
    return (options.authorize === 'loopback' && keyResponse(context)) || next()
  })
  app.get('/', ({ req, env: { base } }) =>
    pageResponse({ door: 'inbox', title, base, readOnly }, req.raw),
  )
  app.get('/:file{console\\.(?:js|css)}', ({ req }) => assetResponse(req.param('file')))
  app.use('/api/*', async ({ req }, next) => {
    refuseForeign(req.raw)
    await next()
  })
  app.get('/api/events', (context) => stream(context, context.env.isServing))
  app.post('/api/*', async (context, next) => {
    const { raw } = context.req
    if (!hasToken(raw)) {
      throw new ConsoleRefusal(403, 'TOKEN_MISSING', 'This page is out of date: reload it')
    }
    context.set('body', await bodyOf(raw))
    await next()
  })
  const activity = createActivityLog(systemClock, onActivity)
  app.route('/api', inboxRoutes({ inbox, activity, now: systemClock, readOnly }))
  app.notFound(() => {
    throw notFound()
  })
  app.onError((error, { req }) => rejection(error, req.raw))
  return app
}

/** The path below the mount, which some frameworks have removed already. */
function pathIn(request: Request, options?: { readonly env?: ConsoleEnv['Bindings'] }): string {
  const { pathname } = new URL(request.url)
  const base = options?.env?.base ?? ''
  return (pathname.startsWith(base) ? pathname.slice(base.length) : pathname) || '/'
}

function keyResponse({ req, env }: ConsoleContext): Response | undefined {
  const { base, hasAddress } = env
  if (hasAddress) return undefined
  const isPage = req.method === 'GET' && req.path === '/'
  return admitByKey(req.raw, { base, isPage, now: steadyClock().getTime() })
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
      'inboxConsole: `authorize` must be a function in production, because people behind a proxy look like loopback: pass (request) => boolean',
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

async function admitted(request: Request, { authorize }: InboxConsoleOptions) {
  if (authorize === 'loopback') {
    refuseRemote(request)
    return undefined
  }
  const verdict = await new Promise<unknown>((resolve) => resolve(authorize(request))).catch(() => {
    const message = 'Could not check whether you may see this inbox'
    throw new ConsoleRefusal(503, 'AUTHORIZE_FAILED', message)
  })
  if (verdict === true) return undefined
  if (typeof verdict === 'string' && verdict !== '') return verdict
  const message =
    'You are not allowed to see this inbox: sign in to the application first; its option `authorize` decides'
  throw new ConsoleRefusal(403, 'FORBIDDEN', message)
}

const notFound = () => new ConsoleRefusal(404, 'NOT_FOUND', 'Path not found')

/** The body of a change: a JSON object, or nothing. Only an operator with a page gets here. */
async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const text = await request.text().catch(() => '-')
  const { value } = text === '' ? { value: {} } : (parseJson(text) ?? { value: undefined })
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  throw new ConsoleRefusal(400, 'BAD_REQUEST', 'The body must be a JSON object')
}

function rejection(error: unknown, request: Request): Response {
  const { status, code, message } = refusalOf(error)
  return request.headers.get('accept')?.includes('text/html')
    ? htmlResponse({ title: message, body: html`<h1>${message}</h1>`, status })
    : Response.json({ code, message, statusCode: status }, { status })
}

function refusalOf(error: unknown): ConsoleRefusal {
  if (error instanceof ConsoleRefusal) return error
  return isWebhookError(error) && error.code === 'OPTION_INVALID'
    ? new ConsoleRefusal(400, error.code, error.reason)
    : new ConsoleRefusal(503, 'STORE_UNAVAILABLE', 'The inbox is not available right now')
}

/** A page asks again after this time, so that `authorize` is asked again too. */
const maxStreamMs = 5 * 60_000

/**
 * Reads the inbox every `interval` milliseconds, once for all pages. It does not open an inbox that
 * was closed: a process that ends would take it from its successor.
 */
function createInboxStream(inbox: Pick<Inbox, 'find' | 'stats' | 'isClosed'>, interval: number) {
  const read = async () => {
    const [stats, { entries }] = await Promise.all([inbox.stats(), inbox.find({ limit: 50 })])
    const { lag: _, oldestAge: __, ...counts } = stats
    const states = entries.map(({ id, state, attempts }) => [id, state, attempts])
    return { stats, seen: JSON.stringify([counts, states]) }
  }
  let latest: { readonly at: number; readonly read: ReturnType<typeof read> } | undefined
  const readOnce = () => {
    const now = steadyClock().getTime()
    if (!latest || now - latest.at > interval * 0.9) latest = { at: now, read: read() }
    return latest.read
  }
  return (context: ConsoleContext, isServing: () => boolean) => {
    if (inbox.isClosed) throw new ConsoleRefusal(503, 'STORE_UNAVAILABLE', 'The inbox is closed')
    const response = streamSSE(context, async (stream) => {
      const send = (event: string, data: unknown = {}) =>
        stream.writeSSE({ event, data: JSON.stringify(data) })
      await stream.write(': watching\n\n')
      let before: string | undefined
      let isFailing = false
      for (let left = Math.ceil(maxStreamMs / interval); left > 0; left--) {
        if (stream.aborted || inbox.isClosed || !isServing()) return
        const now = await readOnce().catch(() => undefined)
        if (!now || isFailing) await send(now ? 'available' : 'unavailable')
        isFailing = !now
        if (now) await send('stats', now.stats)
        if (now && before !== undefined && before !== now.seen) await send('changed')
        before = now?.seen ?? before
        await stream.sleep(interval)
      }
    })
    // These belong to HTTP/1.1; HTTP/2 does not allow them.
    for (const name of ['connection', 'transfer-encoding']) response.headers.delete(name)
    // A proxy that compresses or buffers would hold the events back.
    response.headers.set('cache-control', 'no-store, no-transform')
    response.headers.set('x-accel-buffering', 'no')
    return response
  }
}
