// The console of the sandbox: its pages at `/`, and the reads that they need beyond the API and the
// control plane. These reads cost no rate limit and trigger no fault.
import { type Context, Hono, type Next } from 'hono'
import { type EventName, eventNames } from '../../src/protocol/names.ts'
import { maskSecret } from '../../src/redaction/redact.ts'
import { fromBase64, toBase64 } from '../../src/signature/encoding.ts'
import { isPublicKey } from '../../src/signature/hmac/hmac.ts'
import { testSecret } from '../../src/signature/secrets.ts'
import { fixture } from '../../src/testing/fixture.ts'
import { signedDelivery } from '../../src/testing/signed-delivery.ts'
import { verify } from '../../src/verify.ts'
import { hasToken } from '../console/access.ts'
import { assetResponse, pageResponse, setSafeHeaders } from '../console/page.ts'
import { createApi } from './api.ts'
import { namesFor } from './deliveries/subscriptions.ts'
import { found, HttpError, methodNotAllowed } from './http-error.ts'
import { magicKeys } from './organizations.ts'
import { apiPath, consolePath, controlPath, subjectPath } from './paths.ts'
import type { Attempt, DeliverySummary, SandboxDelivery } from './schemas/deliveries.ts'
import { pageOf } from './selections.ts'
import type { State } from './state.ts'
import { allowedIn, isOpen } from './transitions.ts'
import { signingSecret } from './vendor.ts'
import { assemble, stepData } from './verifications.ts'

/** Mounts the console's pages and routes, and rejects changes that a browser sends without a token. */
export function mountConsole(app: Hono, state: State): void {
  for (const path of [apiPath, controlPath, consolePath]) app.use(`${path}/*`, refuseUntokened)
  app.use('/', setSafeHeaders)
  app.get('/', ({ req }, next) => (wantsPage(req.raw) ? pageResponse(config, req.raw) : next()))
  const roots = [apiPath, controlPath].flatMap((base) => [base, `${base}/`])
  app.on('GET', roots, ({ req }, next) =>
    wantsPage(req.raw) ? Response.redirect(new URL('/#/reference', req.url).href, 302) : next(),
  )
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

const config = { door: 'sandbox', title: 'Sandbox', base: consolePath, readOnly: false } as const

function createRoutes(state: State): Hono {
  const app = new Hono()
  const reads = createApi(state, ({ method, headers }) => {
    if (method !== 'GET') throw methodNotAllowed(['GET'])
    const id = headers.get('x-console-organization') ?? ''
    return found(state.organizations.get(id), 'Organization')
  })
  app.use('*', setSafeHeaders)
  app.route('/api', reads)
  const shown: Readonly<Record<string, (id: string, query: Record<string, string>) => unknown>> = {
    '/overview': () => overviewOf(state),
    '/verifications/:id': (id) => verificationIn(state, id),
    '/clients/:id': (id) => clientIn(state, id),
    '/deliveries': (_, query) => deliveriesIn(state, query),
    '/deliveries/:id': (id) => deliveryIn(state, id),
    '/deliveries/:id/capture': async (id) => ({ capture: await captureOf(state, id) }),
    '/subscriptions': () => ({ data: subscriptionsIn(state) }),
    '/keys': () => ({ data: keysIn(state) }),
  }
  for (const [path, read] of Object.entries(shown)) {
    app.get(path, async ({ req }) => Response.json(await read(req.param('id') ?? '', req.query())))
  }
  app.post('/subscriptions/:id/test', ({ req }) =>
    Response.json({ event: sendTest(state, req.param('id')) }),
  )
  app.get('/:file{console\\.(?:js|css)}', ({ req }) => assetResponse(req.param('file')))
  return app
}

export type Overview = ReturnType<typeof overviewOf>
export type ShownClient = ReturnType<typeof clientIn>
export type ShownVerification = ReturnType<typeof verificationIn>
export type ListedDelivery = ReturnType<typeof rowOf>
export type ListedSubscription = ReturnType<typeof subscriptionsIn>[number]
export type DiagnosedDelivery = Awaited<ReturnType<typeof deliveryIn>>
export type ListedKey = ReturnType<typeof keysIn>[number]

function overviewOf(state: State) {
  const { verifications, clock } = state
  const rows = [...verifications.values()]
  const sent = state.deliveries.list()
  const failing = sent.filter((one) => ['failed', 'retry'].includes(stateOf(one)))
  const due = [
    ...sent
      .filter(({ status }) => status === 'pending')
      .map((one) => ({ ...one, at: one.nextAttemptAt ?? '', name: one.event })),
    ...rows.filter(isOpen).map(({ resource: { id, expiresAt, subjectName } }) => {
      return { id, at: expiresAt, name: subjectName ?? id, resourceId: id, attempts: undefined }
    }),
  ]
  due.sort((one, other) => one.at.localeCompare(other.at))
  return {
    now: clock.now().toISOString(),
    frozen: clock.frozen,
    verifications: countsOf(rows.map(({ resource }) => resource.status)),
    deliveries: countsOf(sent.map(({ status }) => status)),
    failingCount: failing.length,
    failing: failing.slice(0, 8).map((one) => rowOf(state, one)),
    due: due.slice(0, 8),
  }
}

function countsOf(names: readonly string[]) {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** A delivery that waits for its next attempt is retrying. */
const stateOf = ({ status, attempts }: Pick<DeliverySummary, 'status' | 'attempts'>) =>
  status === 'pending' && attempts.length > 0 ? 'retry' : status

function rowOf({ deliveries }: State, one: DeliverySummary) {
  const { status, fault } = one.attempts.at(-1) ?? {}
  const durationMs = deliveries.get(one.id)?.attempts.at(-1)?.durationMs
  const url = deliveries.subscriptions.get(one.subscriptionId)?.url ?? 'a removed subscription'
  const last = { status, durationMs, fault: one.fault ?? fault }
  const to = url.replace(/^https?:\/\//, '')
  return { ...one, state: stateOf(one), attempts: one.attempts.length, last, to }
}

function deliveriesIn(state: State, query: Readonly<Record<string, string>>) {
  const { limit = '', search = '', since = '', ...filter } = query
  const fitting = state.deliveries.list(filter).filter((one) => {
    const { id, eventId, resourceId, event, createdAt } = one
    return createdAt >= since && [id, eventId, resourceId, event].join(' ').includes(search)
  })
  const { data, pagination } = pageOf(fitting, { page: 1, limit: Number(limit) || 100 })
  return { data: data.map((one) => rowOf(state, one)), pagination }
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

function clientIn(state: State, id: string) {
  const { resource } = found(state.clients.get(id), 'Client')
  return { client: resource, ...aboutResource(state, id) }
}

function aboutResource(state: State, id: string) {
  const own = state.deliveries.list().filter(({ resourceId }) => resourceId === id)
  return { deliveries: own.map((one) => rowOf(state, one)) }
}

/** A delivery with its attempts, newest first, each with what is proved about it. */
async function deliveryIn(state: State, id: string) {
  const delivery = found(state.deliveries.get(id), 'Delivery')
  const attempts = await Promise.all(
    delivery.attempts.map(async (one, at) => {
      return { ...one, number: at + 1, ...(await proved(state, delivery, one)) }
    }),
  )
  return { delivery, state: stateOf(delivery), attempts: attempts.reverse() }
}

/** Whether an attempt verifies with the subscription's secret, and if not, why. */
async function proved(
  { deliveries: { subscriptions }, secret: ofKeyPair, scheme }: State,
  { subscriptionId }: SandboxDelivery,
  { at, request: { body, headers } }: Attempt,
) {
  const own = subscriptions.get(subscriptionId)?.secret
  const { authenticity, algorithm } = scheme
  // Nothing in the bytes tells of an address.
  if (own === undefined || authenticity === 'ip') return {}
  const sent = { body: fromBase64(body) ?? new Uint8Array(), headers }
  const secret = signingSecret(isPublicKey(algorithm) ? ofKeyPair : own, scheme)
  const proof = await verify(sent, { secret, scheme, authenticity, now: () => new Date(at) })
  if (proof.ok) return { ok: true as const }
  return { ok: false as const, code: proof.code, diagnosis: await proof.diagnose() }
}

/** The last attempt, for a test: a genuine signature is replaced, for its secret may be the user's own. */
async function captureOf(state: State, id: string) {
  const { attempts } = await deliveryIn(state, id)
  const { request, at: receivedAt, ok } = found(attempts[0], 'Attempt')
  const { scheme, clock } = state
  const options = { secret: signingSecret(testSecret, scheme), scheme, now: () => clock.now() }
  const bytes = fromBase64(request.body) ?? ''
  const made = ok ? await signedDelivery(bytes, options) : undefined
  const headers = Object.entries({ ...request.headers, ...made?.headers })
  const body = made ? toBase64(made.body) : request.body
  return { version: 1, receivedAt, ...request, headers, body }
}
