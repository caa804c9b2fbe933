// The sandbox as one fetch function: the API, the control plane, the pages, and a 404 in the error
// form for any other path.
import { type Context, Hono, type Next } from 'hono'
import { isWebhookError } from '../../src/errors.ts'
import { orAborted, sleep } from '../../src/foundation/abortable.ts'
import { isLoopback } from '../../src/host/loopback.ts'
import { faultsIn, givenIn, messageResponse, subjectResponse } from '../console/subject.ts'
import { createApi } from './api.ts'
import { mountConsole } from './console.ts'
import { createControl } from './control.ts'
import { streamEvents } from './events.ts'
import { formBody, mount } from './exchange.ts'
import { HttpError, notFound } from './http-error.ts'
import { apiDocument } from './openapi.ts'
import { type RateVerdict, rateOf } from './organizations.ts'
import { apiPath, consolePath, controlPath, deprecation, subjectPath } from './paths.ts'
import type { Organization, VerificationRow } from './schemas/snapshot.ts'
import type { State } from './state.ts'
import { isOpen } from './transitions.ts'
import { mountVendorApi } from './vendor-api.ts'
import { act, type Step } from './verifications.ts'

export interface AppOptions {
  readonly state: State
  /** Requests per minute for every organization; false for no limit; undefined for its plan's. */
  readonly rateLimit: number | false | undefined
  /** The host that it listens on; undefined while it does not. */
  readonly listenHost: () => string | undefined
  readonly hosts: readonly string[]
  readonly origin: () => string
  readonly closing: AbortSignal
}

export function createApp(options: AppOptions): Hono {
  const { state, rateLimit, closing } = options
  const app = new Hono()
  app.notFound(() => notFound('Path').toResponse())
  app.onError((error) => httpErrorOf(error).toResponse())
  app.use(`${apiPath}/*`, async (context, next) => {
    await next()
    const { pathname } = new URL(context.req.url)
    const headers = deprecation(pathname.slice(apiPath.length))
    for (const [name, value] of Object.entries(headers)) context.header(name, value)
  })
  // Nothing is answered that is not in the data file, errors neither.
  app.use('*', async (_, next) => {
    await next()
    await state.saved()
  })
  mountGuards(app, options)
  mountConsole(app, state)
  app.use(`${apiPath}/*`, (context, next) => meetFault(context, next, options))
  mountDocuments(app, options)
  const subject = ({ req }: Context) => subjectPage(state, req.param('token') ?? '', req.raw)
  mount(app, [
    {
      method: 'GET',
      path: `${controlPath}/events`,
      answer: (context) => streamEvents(context, state.events, closing),
    },
    { method: 'GET', path: `${subjectPath}{token}`, answer: subject },
    { method: 'POST', path: `${subjectPath}{token}`, answer: subject },
  ])
  const reached = createApi(state, (request) => authenticate(state, request, rateLimit))
  app.route(apiPath, reached)
  app.route(controlPath, createControl(state))
  mountVendorApi(app, state, (context, next) => meetFault(context, next, options))
  return app
}

/**
 * The control plane takes no key, so it is guarded wherever it listens. The API has well-known keys:
 * on loopback it is guarded against pages that rebind a name, elsewhere it is meant to be reached.
 */
function mountGuards(app: Hono, options: AppOptions): void {
  app.use('*', ({ req }, next) => {
    const host = options.listenHost()
    if (host === undefined || isLoopback(host)) guardHost(req.raw, options)
    return next()
  })
  for (const path of [controlPath, consolePath]) {
    app.use(`${path}/*`, ({ req }, next) => {
      guardHost(req.raw, options)
      guardOrigin(req.raw)
      return next()
    })
  }
}

const address = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])$/i

/** Throws 403 for a Host that does not name this machine: a page can rebind a name to loopback. */
function guardHost({ headers }: Request, { listenHost, hosts }: AppOptions): void {
  const listened = listenHost()
  const name = headers.get('host')?.replace(/:\d+$/, '').toLowerCase()
  if (name === undefined || isLoopback(name)) return
  if (hosts.some((one) => one.toLowerCase() === name)) return
  // Rebinding needs a name: an address in the Host header was not resolved for a page.
  const isOpen = listened !== undefined && !isLoopback(listened)
  if (isOpen && (name === listened.toLowerCase() || address.test(name))) return
  const message =
    'The Host header does not name this machine: use localhost, or allow the name (option hosts, --allow-host)'
  throw new HttpError(403, message, { code: 'HOST_REFUSED' })
}

/** Throws 403 for a request that a page of another site sent. */
function guardOrigin(request: Request): void {
  const { headers } = request
  const origin = headers.get('origin')
  // An image, a script or a frame of another site sends no Origin.
  const isEmbedded =
    /^(cross|same)-site$/.test(headers.get('sec-fetch-site') ?? '') &&
    headers.get('sec-fetch-dest') !== 'document'
  if (origin === null && !isEmbedded) return
  const own = headers.get('host') ?? new URL(request.url).host
  if (origin !== null && URL.parse(origin)?.host === own) return
  throw new HttpError(403, 'A page of another site sent the request', { code: 'ORIGIN_REFUSED' })
}

/** Mounts the document of the API, and an index at the addresses that the sandbox prints. */
function mountDocuments(app: Hono, { origin }: AppOptions): void {
  const index = () => {
    const [api, control] = [`${origin()}${apiPath}`, `${origin()}${controlPath}`]
    return {
      title: 'Identity verification, in a box',
      api,
      apiDocument: `${api}/openapi.json`,
      control,
      example: `curl -X POST ${api}/verifications -H 'x-api-key: key_acme' -H 'content-type: application/json' -d '{"type":"idv","requirements":["document"],"subjectName":"Auto Approve"}'`,
    }
  }
  const indexed = ['/', apiPath, `${apiPath}/`, controlPath, `${controlPath}/`]
  mount(app, [
    ...indexed.map((path) => ({ method: 'GET', path, answer: () => Response.json(index()) })),
    {
      method: 'GET',
      path: `${apiPath}/openapi.json`,
      answer: () => Response.json(apiDocument(origin())),
    },
  ])
}

/** Applies a fault of the API to a request: an error, silence, a broken body or a late answer. */
async function meetFault(
  context: Context,
  next: Next,
  { state, closing }: AppOptions,
): Promise<void> {
  const { raw: request, method, url } = context.req
  const { pathname } = new URL(url)
  const path = pathname.startsWith(apiPath) ? pathname.slice(apiPath.length) : pathname
  const fault = state.faults.forApi({ method, path })
  context.set('fault', fault?.kind)
  const ended = AbortSignal.any([request.signal, closing])
  const seconds = fault?.seconds ?? 1
  switch (fault?.kind) {
    case 'error-429':
      throw rateLimited({ limit: 0, remaining: 0, retryAfter: Math.max(1, Math.ceil(seconds)) })
    case 'error-500':
      throw new HttpError(500, 'The service failed because of an injected fault')
    case 'timeout':
      await orAborted(new Promise(() => {}), ended).catch(() => {})
      throw new HttpError(503, 'The service did not answer because of an injected fault')
    case 'slow':
      await sleep(seconds * 1000, ended).catch(() => {})
  }
  await next()
  if (fault?.kind !== 'malformed-json') return
  const text = await context.res.text()
  context.res = new Response(text.slice(0, Math.ceil(text.length / 2)), context.res)
}

/** Checks key, plan, subscription and rate, in this order (sections 5 and 8). */
function authenticate(state: State, request: Request, rate: AppOptions['rateLimit']): Organization {
  const key = request.headers.get('x-api-key')
  const organization = key ? state.organizations.ofKey(key) : undefined
  if (!organization) throw new HttpError(401, 'Missing or invalid API key')
  if (organization.plan === 'Starter') throw new HttpError(403, 'The plan has no API access')
  if (!organization.subscriptionActive) throw new HttpError(402, 'The subscription is not active')
  const limit =
    rate !== undefined && organization.ratePerMinute === null ? rate : rateOf(organization)
  if (limit === false) return organization
  const verdict = state.takeRate(organization.id, limit)
  if (!verdict.allowed) throw rateLimited(verdict)
  return organization
}

function rateLimited({ limit, remaining, retryAfter }: Omit<RateVerdict, 'allowed'>): HttpError {
  return new HttpError(429, 'Too many requests', {
    headers: {
      'retry-after': String(retryAfter),
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
    },
  })
}

function httpErrorOf(error: Error): HttpError {
  if (error instanceof HttpError) return error
  if (isWebhookError(error) && error.code === 'DATA_FILE_FAILED') {
    return new HttpError(503, 'The data file cannot be written', {
      headers: { 'retry-after': '5' },
    })
  }
  return new HttpError(500, 'The sandbox failed; please report it')
}

// The page behind an invitation's link (section 4.1), which the console renders.

/** Shows the page of a token; POST completes a step, or all, and checks fields with `filled=yes`. */
async function subjectPage(state: State, token: string, request: Request): Promise<Response> {
  const row = [...state.verifications.values()].find((one) => one.resource.accessToken === token)
  if (!row) return messageResponse('This link is not valid.', 404)
  const { pathname, search, searchParams } = new URL(request.url)
  const view = viewOf(row, searchParams.get('returnUrl') ?? row.config?.returnUrl)
  if (request.method !== 'POST') return subjectResponse(view)
  const given = await formBody(request, 16_384)
  const step = given.get('step') ?? 'all'
  const filled = given.get('filled') === 'yes'
  const faults = filled ? faultsIn(step, given) : {}
  if (Object.keys(faults).length > 0) return subjectResponse({ ...view, given, faults })
  const named = row.resource.requirements.find((one) => one === step)
  const first: Step[] = row.resource.status === 'initiated' ? [{ action: 'start' }] : []
  const answers = named && filled ? { given: givenIn(named, given) } : {}
  try {
    act(state, row, { steps: [...first, { action: 'submit', step: named, ...answers }] })
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    return messageResponse(`This cannot be done: ${error.message}.`, 409)
  }
  return new Response(null, { status: 303, headers: { location: pathname + search } })
}

function viewOf(row: VerificationRow, returnUrl: unknown) {
  const { resource, completed } = row
  const { status, requestorCompany, requirements } = resource
  return {
    company: requestorCompany ?? '',
    status,
    steps: requirements.map((name) => ({ name, done: completed[name] !== undefined })),
    open: isOpen(row),
    returnUrl: webAddress(returnUrl),
  }
}

/** Links only to web addresses: an unauthenticated client may have chosen it. */
function webAddress(text: unknown): URL | undefined {
  const url = typeof text === 'string' ? URL.parse(text) : null
  return url && /^https?:$/.test(url.protocol) ? url : undefined
}
