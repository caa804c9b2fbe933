// Everything that answers a request, as one fetch: the API, the control plane, the pages, 404 in the
// error form for the rest. A fault of ours gets through in the error form only.
import { Hono } from 'hono'
import { isWebhookError } from '../../src/errors.ts'
import { apiPath, createApi } from './api.ts'
import { withFault } from './api-faults.ts'
import { authenticate, type RateOption } from './authenticate.ts'
import { consolePath, createSandboxConsole } from './console.ts'
import { controlPath, createControl } from './control.ts'
import { controlHandlers } from './control-handlers.ts'
import type { Core } from './core.ts'
import { eventStream } from './event-stream.ts'
import { guardedPath, guardHost, guardOrigin, isLoopback } from './host-guard.ts'
import { HttpError, methodNotAllowed, notFound } from './http-error.ts'
import { apiIndex, controlIndex, rootIndex } from './landing.ts'
import { deprecation, legacyPaths } from './legacy-paths.ts'
import { profile } from './profile.ts'
import { subjectPage } from './subject-page.ts'

export interface AppOptions {
  readonly core: Core
  readonly rateLimit: RateOption
  /** The host that mail is sent by; undefined while it is only kept. */
  readonly mailServer: string | undefined
  /** Where it listens; undefined while it does not. */
  readonly listenHost: () => string | undefined
  /** Further names that it answers to. */
  readonly hosts: readonly string[]
  readonly origin: () => string
  readonly closing: AbortSignal
}

export type AppFetch = (request: Request) => Promise<Response>

export function createApp(options: AppOptions): AppFetch {
  const { core, closing } = options
  const router = createRouter(options)
  /** Nothing is answered that the disk has not got, an error neither. */
  const settled = (answer: Promise<Response>) =>
    answer.finally(() => core.saved()).catch((error: unknown) => httpErrorOf(error).toResponse())
  const answer = async (request: Request) => router.fetch(request)

  return async (request) => {
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith(`${apiPath}/`)) return settled(answer(request))
    const path = pathname.slice(apiPath.length)
    const fault = core.faults.forApi({ method: request.method, path })
    const response = fault
      ? withFault(fault, { request, closing, answer: () => answer(request) })
      : answer(request)
    return marked(await settled(response), deprecation(apiPath, path))
  }
}

function createRouter(options: AppOptions): Hono {
  const { core, origin, closing, rateLimit } = options
  const { state, events } = core
  const app = new Hono()
  const shownByConsole = createSandboxConsole(core)
  app.use('*', async (context, next) => {
    guard(context.req.raw, options)
    const response = await shownByConsole(context.req.raw)
    if (!response) await next()
    return response
  })
  const json = (path: string, document: () => Promise<unknown>) =>
    only(app, ['GET'], path, async () => Response.json(await document()))
  // The library is loaded when a document is first asked for.
  json(`${apiPath}/openapi.json`, async () =>
    (await import('./openapi.ts')).apiDocument(legacyPaths, `${origin()}${apiPath}`),
  )
  json(`${controlPath}/openapi.json`, async () =>
    (await import('./openapi.ts')).controlDocument(`${origin()}${controlPath}`),
  )
  json('/', async () => rootIndex(origin()))
  json(apiPath, async () => apiIndex(origin()))
  json(controlPath, async () => controlIndex(origin(), options.mailServer))
  only(app, ['GET'], `${controlPath}/events`, (request) => eventStream(events, request, closing))
  only(app, ['GET', 'POST'], `${profile.subjectPath}:token`, (request, token) =>
    subjectPage(state, token, request),
  )
  const organizationOf = (request: Request) => authenticate(state, request, rateLimit)
  app.route(apiPath, createApi({ state, authenticate: organizationOf }))
  app.route(controlPath, createControl(controlHandlers(core)))
  app.notFound(() => notFound('Path').toResponse())
  app.onError((error) => httpErrorOf(error).toResponse())
  return app
}

/**
 * The control plane takes no key, so it is guarded wherever it listens. The API has well-known keys:
 * on loopback it is guarded against pages that rebind a name, elsewhere it is meant to be reached.
 */
function guard(request: Request, { listenHost, hosts }: AppOptions): void {
  const pathname = guardedPath(request)
  const own = { listenHost: listenHost(), hosts }
  const isControl = [controlPath, consolePath].some((path) => `${pathname}/`.startsWith(`${path}/`))
  if (isControl || isLoopback(own.listenHost)) guardHost(request, own)
  if (isControl) guardOrigin(request)
}

/** Sets headers that every answer on a path has, an error too. */
function marked(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

/** A path with its methods, with or without a slash at the end; any other method is 405. */
function only(
  app: Hono,
  methods: string[],
  path: string,
  answer: (request: Request, token: string) => Response | Promise<Response>,
): void {
  for (const form of path === '/' ? [path] : [path, `${path}/`]) {
    app.on(methods, form, (context) => answer(context.req.raw, context.req.param('token') ?? ''))
    app.all(form, () => methodNotAllowed(methods).toResponse())
  }
}

function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  if (isWebhookError(error) && error.code === 'CALLED_FROM_DELIVERY') {
    return new HttpError(409, error.reason, { code: error.code })
  }
  if (isWebhookError(error) && error.code === 'DATA_FILE_FAILED') {
    return new HttpError(503, 'The data file cannot be written', {
      headers: { 'retry-after': '5' },
    })
  }
  return new HttpError(500, 'The sandbox failed; please report it')
}
