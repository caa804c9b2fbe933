// Everything that answers a request, as one fetch: the API, the control plane, 404 in the error
// form for the rest. No fault of ours gets through as anything but the error form.
import { Hono } from 'hono'
import { isWebhookError } from '../errors.ts'
import { apiPath, createApi } from './api.ts'
import { withFault } from './api-faults.ts'
import { admitted, type RateOption } from './authenticate.ts'
import { createSandboxConsole } from './console.ts'
import { controlPath, createControl } from './control.ts'
import { type ControlTargets, controlHandlers } from './control-handlers.ts'
import type { Feed } from './event-bus.ts'
import { eventStream } from './event-stream.ts'
import { guardControl } from './host-guard.ts'
import { HttpError, methodNotAllowed, notFound } from './http-error.ts'
import type { Journal } from './journal.ts'
import { deprecation, legacyPaths } from './legacy-paths.ts'
import { profile } from './profile.ts'
import { subjectPage } from './subject-page.ts'

export interface AppParts {
  readonly targets: ControlTargets
  readonly feed: Feed
  readonly journal: Journal
  readonly rateLimit: RateOption
  /** Where it listens; undefined while it does not. */
  readonly host: () => string | undefined
  /** Further names that the control plane answers to. */
  readonly hosts: readonly string[]
  readonly origin: () => string
  readonly closing: AbortSignal
}

export type AppFetch = (request: Request) => Promise<Response>

export function createApp(parts: AppParts): AppFetch {
  const { targets, feed, journal, rateLimit, origin, closing } = parts
  const { world, faults } = targets
  const app = new Hono()
  const api = createApi({ world, admit: (request) => admitted(world, request, rateLimit) })
  const guard = (request: Request) =>
    guardControl(request, { listenHost: parts.host(), hosts: parts.hosts })
  const shownByConsole = createSandboxConsole({ targets, guard })
  const control = createControl({
    handlers: controlHandlers(targets),
    guard,
    responses: {
      '/events': (request) => eventStream(feed, [request.signal, closing]),
    },
  })
  documents(app, origin)
  only(app, ['GET', 'POST'], `${profile.subjectPath}:token`, async (request, token) =>
    subjectPage(world, token, request),
  )
  only(app, ['GET'], '/', () => Response.json(signposts(origin())))
  app.route(apiPath, api)
  app.route(controlPath, control)
  app.notFound(() => notFound('Path').toResponse())
  app.onError((error) => refusalOf(error).toResponse())

  /** Nothing is answered that speaks of what the disk has not got, a refusal neither. */
  const safely = (answer: Promise<Response>) =>
    answer.finally(() => durable(journal)).catch((error: unknown) => refusalOf(error).toResponse())

  return async (request) => {
    const answer = async () => shownByConsole(request) ?? app.fetch(request)
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith(`${apiPath}/`)) return safely(answer())
    const path = pathname.slice(apiPath.length)
    const fault = faults.forApi({ method: request.method, path })
    const response = fault
      ? safely(withFault(fault, request, { closing, answer }))
      : safely(answer())
    return marked(await response, deprecation(apiPath, path))
  }
}

/** Sets headers that every answer on a path has, whatever it says. */
function marked(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

/** A path with its methods; any other is 405. */
function only(
  app: Hono,
  methods: string[],
  path: string,
  answer: (request: Request, token: string) => Response | Promise<Response>,
): void {
  app.on(methods, path, (context) => answer(context.req.raw, context.req.param('token') ?? ''))
  app.all(path, () => methodNotAllowed(methods).toResponse())
}

/** The OpenAPI documents, made when first asked for: the library is not loaded before. */
function documents(app: Hono, origin: () => string): void {
  only(app, ['GET'], `${apiPath}/openapi.json`, async () => {
    const { apiDocument } = await import('./openapi.ts')
    return Response.json(apiDocument(legacyPaths, `${origin()}${apiPath}`))
  })
  only(app, ['GET'], `${controlPath}/openapi.json`, async () => {
    const { controlDocument } = await import('./openapi.ts')
    return Response.json(controlDocument(`${origin()}${controlPath}`))
  })
}

/** What is where, for who comes by the front door. */
function signposts(url: string): Readonly<Record<string, string>> {
  return {
    service: 'identity verification, in a box',
    api: `${url}${apiPath}`,
    apiDocument: `${url}${apiPath}/openapi.json`,
    control: `${url}${controlPath}`,
    controlDocument: `${url}${controlPath}/openapi.json`,
    assumptions: `${url}${controlPath}/assumptions`,
  }
}

/** An answer must not speak of what the disk refused. */
function durable(journal: Journal): Promise<void> {
  return journal.settled().catch(() => {
    throw new HttpError(503, 'The data file cannot be written', { headers: { 'retry-after': '5' } })
  })
}

function refusalOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  if (isWebhookError(error) && error.code === 'CALLED_FROM_DELIVERY') {
    return new HttpError(409, error.message, { code: error.code })
  }
  return new HttpError(500, 'The sandbox failed; please report it')
}
