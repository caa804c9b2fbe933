// Everything that answers a request, as one fetch: the API, the control plane, 404 in the error
// form for the rest. No fault of ours gets through as anything but the error form.
import { Hono } from 'hono'
import { apiPath, createApi, legacyPaths } from './api.ts'
import { withFault } from './api-faults.ts'
import { controlPath, createControl } from './control.ts'
import { type ControlTargets, controlHandlers } from './control-handlers.ts'
import { eventStream } from './event-stream.ts'
import type { Feed } from './feed.ts'
import { admitted, type RateOption } from './gate.ts'
import { guardControl } from './guard.ts'
import type { Journal } from './journal.ts'
import { profile } from './profile.ts'
import { notFound, Refusal } from './refusal.ts'
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
  const settled = () => durable(journal)
  const api = createApi({
    world,
    settled,
    admit: (request) => admitted(world, request, rateLimit),
  })
  const control = createControl({
    settled,
    handlers: controlHandlers(targets),
    guard: (request) => guardControl(request, { listenHost: parts.host(), hosts: parts.hosts }),
    responses: {
      '/events': (request) => eventStream(feed, [request.signal, closing]),
    },
  })
  documents(app, origin)
  app.on(['GET', 'POST'], `${profile.subjectPath}:token`, async (context) => {
    const answer = await subjectPage(world, context.req.param('token') ?? '', context.req.raw)
    await settled()
    return answer
  })
  app.get('/', () => Response.json(signposts(origin())))
  app.route(apiPath, api)
  app.route(controlPath, control)
  app.notFound(() => notFound('Path').toResponse())
  app.onError((error) => refusalOf(error).toResponse())

  return async (request) => {
    const answer = async () => app.fetch(request)
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith(`${apiPath}/`)) return answer()
    const path = pathname.slice(apiPath.length)
    const fault = faults.forApi({ method: request.method, path })
    if (!fault) return answer()
    return withFault(fault, request, { closing, answer }).catch((error) =>
      refusalOf(error).toResponse(),
    )
  }
}

/** The OpenAPI documents, made when first asked for: the library is not loaded before. */
function documents(app: Hono, origin: () => string): void {
  app.get(`${apiPath}/openapi.json`, async () => {
    const { apiDocument } = await import('./openapi.ts')
    return Response.json(apiDocument(legacyPaths, `${origin()}${apiPath}`))
  })
  app.get(`${controlPath}/openapi.json`, async () => {
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
    throw new Refusal(503, 'The data file cannot be written', { headers: { 'retry-after': '5' } })
  })
}

function refusalOf(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal(500, 'The sandbox failed; please report it')
}
