// The console of the sandbox: its pages at `/`, and what they read beyond the API and the control
// plane. Its reads cost no organization its rate and strike no fault.
import { type Context, Hono, type Next } from 'hono'
import { fromBase64 } from '../../src/signature/encoding.ts'
import { signedDelivery } from '../../src/testing/signed-delivery.ts'
import { testSecret } from '../../src/testing/test-secret.ts'
import { verify } from '../../src/verify.ts'
import { hasToken, tokenOf } from '../console/access.ts'
import { createActivityLog } from '../console/activity.ts'
import { assetResponse, pageResponse, safeHeaders } from '../console/page.ts'
import { createApi } from './api.ts'
import { jsonBody } from './exchange.ts'
import { HttpError, methodNotAllowed, notFound } from './http-error.ts'
import { apiPath, consolePath, controlPath, subjectPath } from './paths.ts'
import { profile } from './profile.ts'
import type { State } from './state.ts'
import { allowedIn } from './transitions.ts'
import { assemble, stepData } from './verifications.ts'

/** Mounts the console's pages and routes, and rejects changes that a browser sends without a token. */
export function mountConsole(app: Hono, state: State): void {
  for (const path of [apiPath, controlPath, consolePath]) app.use(`${path}/*`, refuseUntokened)
  app.get('/', ({ req }, next) => (wantsPage(req.raw) ? page(req.raw) : next()))
  for (const base of [apiPath, controlPath]) {
    for (const path of [base, `${base}/`]) {
      app.get(path, ({ req }, next) =>
        wantsPage(req.raw)
          ? Response.redirect(new URL('/#/assumptions', req.url).href, 302)
          : next(),
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
  const { deliveries } = state
  const app = new Hono()
  const activity = createActivityLog(() => state.clock.now())
  const reads = createApi({
    state,
    authenticate(request) {
      const id = request.headers.get('x-console-organization') ?? ''
      const found = state.organizations.get(id)
      if (request.method !== 'GET') throw methodNotAllowed(['GET'])
      if (!found) throw notFound('Organization')
      return found
    },
  })
  app.use('*', async (context, next) => {
    await next()
    for (const [name, value] of Object.entries(safeHeaders)) context.res.headers.set(name, value)
  })
  app.route('/api', reads)
  app.get('/verifications/:id', ({ req }) => Response.json(verificationIn(state, req.param('id'))))
  app.get('/clients/:id', ({ req }) => {
    const row = state.clients.get(req.param('id'))
    if (!row) throw notFound('Client')
    return Response.json({ client: row.resource, ...aboutResource(state, row.resource.id) })
  })
  app.get('/deliveries/:id/diagnosis', async ({ req }) => {
    const delivery = deliveries.get(req.param('id'))
    if (!delivery) throw notFound('Delivery')
    return Response.json({ data: await diagnosed(state, delivery) })
  })
  app.get('/deliveries/:id/capture', async ({ req }) => {
    const delivery = deliveries.get(req.param('id'))
    if (!delivery) throw notFound('Delivery')
    return Response.json({ capture: await captureOf(state, delivery) })
  })
  app.get('/reveals', () => Response.json({ data: activity.list() }))
  app.post('/reveals', async ({ req }) => {
    const body = (await jsonBody(req.raw, 4096)) as { readonly what?: unknown } | undefined
    if (typeof body?.what !== 'string') throw new HttpError(400, 'Say what is revealed: { what }')
    return Response.json(await activity.record({ action: 'reveal', what: body.what }))
  })
  app.get('/:file{console\\.(?:js|css)}', ({ req }) => assetResponse(req.param('file')))
  return app
}

/** A verification with what its page shows beside it. */
function verificationIn(state: State, id: string) {
  const row = state.verifications.get(id)
  if (!row) throw notFound('Verification')
  return {
    verification: assemble(row),
    data: Object.fromEntries(row.resource.requirements.map((step) => [step, stepData(row, step)])),
    allowed: allowedIn(row.resource.status),
    thirdParties: row.thirdParties ?? [],
    config: row.config ?? null,
    link: `${subjectPath}${row.resource.accessToken}`,
    ...aboutResource(state, id),
  }
}

function aboutResource({ outbox, deliveries }: State, id: string) {
  return {
    deliveries: deliveries.list().filter(({ resourceId }) => resourceId === id),
    mail: outbox.list().filter(({ verificationId }) => verificationId === id),
  }
}

type Delivered = NonNullable<ReturnType<State['deliveries']['get']>>

/** The last attempt, for a test: a genuine signature is replaced, for its secret may be the user's own. */
async function captureOf(state: State, delivery: Delivered) {
  const last = delivery.attempts.at(-1)
  if (!last) throw notFound('Attempt')
  const { method, url, headers, body } = last.request
  const proof = (await diagnosed(state, delivery)).at(-1)
  const now = () => state.clock.now()
  const { scheme } = profile
  const again = () => signedDelivery(fromBase64(body) ?? '', { secret: testSecret, scheme, now })
  const signature = proof?.ok ? (await again()).headers : {}
  const pairs = Object.entries({ ...headers, ...signature })
  return { version: 1, receivedAt: last.at, method, url, headers: pairs, body }
}

/** Adds to each attempt whether it verifies with the subscription's secret, and if not, why. */
async function diagnosed({ deliveries: { subscriptions }, clock }: State, delivery: Delivered) {
  const secret = subscriptions.get(delivery.subscriptionId)?.secret
  if (secret === undefined) return []
  return Promise.all(
    delivery.attempts.map(async ({ request: { body, headers } }) => {
      const bytes = fromBase64(body) ?? new Uint8Array()
      const now = () => clock.now()
      const proof = await verify({ body: bytes, headers }, { secret, scheme: profile.scheme, now })
      if (proof.ok) return { ok: true as const }
      return { ok: false as const, code: proof.code, diagnosis: await proof.diagnose() }
    }),
  )
}
