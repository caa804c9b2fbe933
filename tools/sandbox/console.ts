// The console of the sandbox: its pages at `/`, and the reads that they need beyond the API and the
// control plane. These reads cost no rate limit and trigger no fault.
import { type Context, Hono, type Next } from 'hono'
import { defined } from '../../src/foundation/defined.ts'
import { type EventName, eventNames } from '../../src/protocol/names.ts'
import { maskSecret } from '../../src/redaction/redact.ts'
import { fromBase64 } from '../../src/signature/encoding.ts'
import { testSecret } from '../../src/signature/secrets.ts'
import { fixture } from '../../src/testing/fixture.ts'
import { signedDelivery } from '../../src/testing/signed-delivery.ts'
import { verify } from '../../src/verify.ts'
import { hasToken, tokenOf } from '../console/access.ts'
import { assetResponse, pageResponse, safeHeaders } from '../console/page.ts'
import { createApi } from './api.ts'
import { namesFor } from './deliveries/subscriptions.ts'
import { found, HttpError, methodNotAllowed, notFound } from './http-error.ts'
import { magicKeys } from './organizations.ts'
import { apiPath, consolePath, controlPath, subjectPath } from './paths.ts'
import { pageOf } from './selections.ts'
import type { State } from './state.ts'
import { allowedIn, isOpen } from './transitions.ts'
import { signingSecret } from './vendor.ts'
import { assemble, stepData } from './verifications.ts'

/** Mounts the console's pages and routes, and rejects changes that a browser sends without a token. */
export function mountConsole(app: Hono, state: State): void {
  for (const path of [apiPath, controlPath, consolePath]) app.use(`${path}/*`, refuseUntokened)
  app.get('/', ({ req }, next) => (wantsPage(req.raw) ? page(req.raw) : next()))
  for (const base of [apiPath, controlPath]) {
    for (const path of [base, `${base}/`]) {
      app.get(path, ({ req }, next) =>
        wantsPage(req.raw) ? Response.redirect(new URL('/#/reference', req.url).href, 302) : next(),
      )
    }
  }
  app.route(consolePath, createRoutes(state))
}

const wantsPage = ({ headers }: Request) => headers.get('accept')?.includes('text/html') ?? false

/** Only browsers say from which site a request comes; programs need no token. */
function refuseUntokened({ req: { raw: request } }: Context, next: Next) {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead || !request.headers.has('sec-fetch-site') || hasToken(request)) return next()
  const message = 'A change from a browser needs the token of a page of the console: load it again'
  throw new HttpError(403, message, { code: 'TOKEN_MISSING' })
}

function page(request: Request): Response {
  const { token, cookie } = tokenOf(request)
  const config = { door: 'sandbox', title: 'Sandbox', base: consolePath, readOnly: false } as const
  const response = pageResponse(config, token)
  if (cookie !== undefined) response.headers.append('set-cookie', cookie)
  return response
}

function createRoutes(state: State): Hono {
  const { deliveries, organizations } = state
  const app = new Hono()
  const reads = createApi({
    state,
    authenticate(request) {
      const id = request.headers.get('x-console-organization') ?? ''
      if (request.method !== 'GET') throw methodNotAllowed(['GET'])
      return found(organizations.get(id), 'Organization')
    },
  })
  app.use('*', async (context, next) => {
    await next()
    for (const [name, value] of Object.entries(safeHeaders)) context.res.headers.set(name, value)
  })
  app.route('/api', reads)
  app.get('/overview', () => Response.json(overviewOf(state)))
  app.get('/verifications/:id', ({ req }) => Response.json(verificationIn(state, req.param('id'))))
  app.get('/clients/:id', ({ req }) => {
    const row = found(state.clients.get(req.param('id')), 'Client')
    return Response.json({ client: row.resource, ...aboutResource(state, row.resource.id) })
  })
  app.get('/deliveries', ({ req }) => Response.json(deliveriesIn(state, req.query())))
  app.get('/deliveries/:id', async ({ req }) => {
    const delivery = found(deliveries.get(req.param('id')), 'Delivery')
    return Response.json({ delivery, proofs: await diagnosed(state, delivery) })
  })
  app.get('/deliveries/:id/capture', async ({ req }) => {
    const delivery = found(deliveries.get(req.param('id')), 'Delivery')
    return Response.json({ capture: await captureOf(state, delivery) })
  })
  app.get('/subscriptions', () => Response.json({ data: subscriptionsIn(state) }))
  app.post('/subscriptions/:id/test', ({ req }) =>
    Response.json({ event: sendTest(state, req.param('id')) }),
  )
  app.get('/keys', () => Response.json({ data: keysIn(state) }))
  app.get('/:file{console\\.(?:js|css)}', ({ req }) => assetResponse(req.param('file')))
  return app
}

export type Overview = ReturnType<typeof overviewOf>
export type DueItem = Overview['due'][number]
export type ShownVerification = ReturnType<typeof verificationIn>
export type ListedDelivery = ReturnType<typeof deliveriesIn>['data'][number]
export type ListedSubscription = ReturnType<typeof subscriptionsIn>[number]
export type AttemptProof = Awaited<ReturnType<typeof diagnosed>>[number]
export type ListedKey = ReturnType<typeof keysIn>[number]

/** Counts, failing deliveries, and what is due next. */
function overviewOf({ verifications, deliveries, clock }: State) {
  const rows = [...verifications.values()]
  const sent = deliveries.list()
  const isFailing = ({ status, attempts }: (typeof sent)[number]) =>
    status === 'failed' || (status === 'pending' && attempts.length > 0)
  const due = [
    ...sent
      .filter(({ status }) => status === 'pending')
      .map((one) => ({ ...one, at: one.nextAttemptAt ?? '', name: one.event })),
    ...rows.filter(isOpen).map(({ resource: { id, expiresAt, subjectName } }) => {
      return { id, at: expiresAt, name: subjectName ?? id, attempts: undefined }
    }),
  ]
  due.sort((one, other) => one.at.localeCompare(other.at))
  return {
    now: clock.now().toISOString(),
    frozen: clock.frozen,
    verifications: countsOf(rows.map(({ resource }) => resource.status)),
    deliveries: countsOf(sent.map(({ status }) => status)),
    failing: sent.filter(isFailing).slice(0, 8),
    due: due
      .slice(0, 8)
      .map(({ id, at, name, attempts }) => defined({ id, at, name, attempts: attempts?.length })),
  }
}

function countsOf(names: readonly string[]) {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** The newest deliveries that fit, with how long each attempt took. */
function deliveriesIn({ deliveries }: State, query: Readonly<Record<string, string>>) {
  const { limit = '', search = '', dateFrom = '', ...filter } = query
  const isFound = ({ id, eventId, resourceId, event }: { [name: string]: unknown }) =>
    [id, eventId, resourceId, event].some((text) => String(text).includes(search))
  const all = deliveries.list(filter).filter((one) => one.createdAt >= dateFrom && isFound(one))
  const { data, pagination } = pageOf(all, { page: 1, limit: Number(limit) || 100 })
  const timed = data.map((one) => ({
    ...one,
    attempts: one.attempts.map((attempt, at) =>
      defined({ ...attempt, durationMs: deliveries.get(one.id)?.attempts[at]?.durationMs }),
    ),
  }))
  return { data: timed, pagination }
}

/** The subscriptions, each with how many of its deliveries arrived and with its last attempt. */
function subscriptionsIn({ deliveries }: State) {
  const all = deliveries.list()
  return deliveries.subscriptions.list().map((subscription) => {
    const own = all.filter(({ subscriptionId }) => subscriptionId === subscription.id)
    return {
      ...subscription,
      secret: maskSecret(subscription.secret),
      counts: countsOf(own.map(({ status }) => status)),
      last: own.find(({ attempts }) => attempts.length > 0)?.attempts.at(-1),
    }
  })
}

/** The API keys with their organizations; a seeded key also says which answer it gets. */
function keysIn({ organizations }: State) {
  return organizations.dump().keys.map(({ key, active, organizationId }) => {
    const effect = magicKeys.find((one) => one.key === key)?.effect
    const { name = '', plan } = organizations.get(organizationId) ?? {}
    return { key, active, organizationId, name, plan, effect }
  })
}

/** Sends an example event to one subscription, under a name that the subscription takes. */
function sendTest({ deliveries, clock }: State, id: string): EventName {
  const { events, organizationId } = found(deliveries.subscriptions.get(id), 'Subscription')
  const names = ['verification.approved' as const, ...eventNames]
  const name = names.find((one) => namesFor(events, one).length > 0) ?? 'verification.approved'
  const data = { ...fixture(name).data }
  deliveries.emit({ organizationId: organizationId ?? '', name, data, occurredAt: clock.now() }, id)
  return name
}

/** A verification with what its page shows beside it. */
function verificationIn(state: State, id: string) {
  const row = found(state.verifications.get(id), 'Verification')
  return {
    verification: assemble(row),
    completed: row.completed,
    data: Object.fromEntries(row.resource.requirements.map((step) => [step, stepData(row, step)])),
    allowed: allowedIn(row.resource.status),
    link: `${subjectPath}${row.resource.accessToken}`,
    ...aboutResource(state, id),
  }
}

function aboutResource({ deliveries }: State, id: string) {
  return { deliveries: deliveries.list().filter(({ resourceId }) => resourceId === id) }
}

type Delivered = NonNullable<ReturnType<State['deliveries']['get']>>

/** The last attempt, for a test: a genuine signature is replaced, for its secret may be the user's own. */
async function captureOf(state: State, delivery: Delivered) {
  const last = delivery.attempts.at(-1)
  if (!last) throw notFound('Attempt')
  const { method, url, headers, body } = last.request
  const proof = (await diagnosed(state, delivery)).at(-1)
  const now = () => state.clock.now()
  const { scheme } = state
  const secret = signingSecret(testSecret, scheme)
  const again = () => signedDelivery(fromBase64(body) ?? '', { secret, scheme, now })
  const signature = proof?.ok ? (await again()).headers : {}
  const pairs = Object.entries({ ...headers, ...signature })
  return { version: 1, receivedAt: last.at, method, url, headers: pairs, body }
}

/** Adds to each attempt whether it verifies with the subscription's secret, and if not, why. */
async function diagnosed(
  { deliveries: { subscriptions }, clock, scheme }: State,
  delivery: Delivered,
) {
  const own = subscriptions.get(delivery.subscriptionId)?.secret
  const { authenticity } = scheme
  // Nothing in the bytes tells of an address.
  if (own === undefined || authenticity === 'ip') return []
  const secret = signingSecret(own, scheme)
  return Promise.all(
    delivery.attempts.map(async ({ request: { body, headers } }) => {
      const bytes = fromBase64(body) ?? new Uint8Array()
      const now = () => clock.now()
      const options = { secret, scheme, authenticity, now }
      const proof = await verify({ body: bytes, headers }, options)
      if (proof.ok) return { ok: true as const }
      return { ok: false as const, code: proof.code, diagnosis: await proof.diagnose() }
    }),
  )
}
