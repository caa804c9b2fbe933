// The API of the vendor whose part a sandbox plays: the paths, the authentication and the records
// that its preset has, and where a receiver gets the key of its signature.
import { verify } from 'node:crypto'
import type { Context, Hono } from 'hono'
import type { VendorCall, VendorDecision } from '../../src/protocol/vendor.ts'
import { recordInDialect } from '../../src/vendors/dialect.ts'
import { formBody, jsonBody, type MountedRoute, mount } from './exchange.ts'
import { found, HttpError } from './http-error.ts'
import type { VerificationRow } from './schemas/snapshot.ts'
import type { State } from './state.ts'
import { transitions } from './transitions.ts'
import { type ApiCredentials, publicKeyOf } from './vendor.ts'

/** Tells whether a request is signed as Yoti's API wants it, with the key of its credentials. */
function isSigned({ method, url, headers }: Request, key: string): boolean {
  const { pathname, search } = new URL(url)
  const digest = Buffer.from(headers.get('x-yoti-auth-digest') ?? '', 'base64')
  return verify('sha256', Buffer.from(`${method}&${pathname}${search}`), key, digest)
}

/** Plaid gives the public key of its signature by the key's id. */
const plaidKey = {
  method: 'POST',
  path: '/webhook_verification_key/get',
  body: { client_id: '{clientId}', secret: '{secret}', key_id: '{id}' },
} as const

/** Mounts the API; a request meets faults before it is answered. */
export function mountVendorApi(
  app: Hono,
  state: State,
  meetFault: (context: Context, next: () => Promise<void>) => Promise<void>,
): void {
  const { vendor, credentials } = state
  const isYoti = vendor?.name === 'yoti'
  const routes = (vendor?.decisions ?? []).map((decision) =>
    routeOf(decision.request, credentials, (id, context) => {
      if (isYoti && !isSigned(context.req.raw, credentials.secret)) throw unauthorized()
      const row = found(state.verifications.get(id), 'Verification')
      return recordOf(decision, row, context.get('fault') === 'stale-record')
    }),
  )
  if (vendor?.name === 'plaid') {
    const { jwk } = publicKeyOf(state.secret, vendor.scheme) ?? {}
    const keyOf = (id: string) => ({ ...found(jwk?.kid === id ? jwk : undefined, 'Key') })
    routes.push(
      routeOf(plaidKey, credentials, (id) => ({ key: { ...keyOf(id), expired_at: null } })),
    )
  }
  for (const { request } of vendor?.decisions ?? []) {
    const { login } = request
    if (!login) continue
    routes.push(routeOf(login, credentials, () => ({ [login.token]: credentials.token })))
  }
  const patterns = routes.map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1'))
  for (const pattern of new Set(patterns)) app.use(pattern, meetFault)
  mount(app, routes)
}

const unauthorized = () => new HttpError(401, 'Missing or invalid credentials of the API')

function routeOf(
  request: Omit<VendorCall, 'baseUrl'>,
  credentials: ApiCredentials,
  answer: (id: string, context: Context) => object,
): MountedRoute {
  const { method = 'GET', headers = {}, body, form } = request
  const [path = '', query = ''] = request.path.split('?')
  const content = body ?? form ?? {}
  return {
    method,
    // A place in the path other than the id takes any text.
    path: path.replaceAll(/[.](?=[^{]*\})/g, '_'),
    async answer(context) {
      const { raw } = context.req
      const given: unknown = form
        ? Object.fromEntries(await formBody(raw, 16_384))
        : body && (await jsonBody(raw))
      const sent = { ...Object(given), ...Object.fromEntries(new URL(raw.url).searchParams) }
      const wanted = { ...content, ...Object.fromEntries(new URLSearchParams(query)) }
      const isGiven =
        hasAll(headers, credentials, (name) => raw.headers.get(name)) &&
        hasAll(wanted, credentials, (name) => sent[name])
      if (!isGiven) throw unauthorized()
      const field = Object.keys(content).find((name) => content[name] === '{id}')
      const id = field === undefined ? context.req.param('id') : sent[field]
      return Response.json(answer(String(id), context))
    },
  }
}

/** Tells whether a request has each text, with the credentials in their places; any id matches. */
function hasAll(
  texts: Readonly<Record<string, string>>,
  credentials: ApiCredentials,
  given: (name: string) => unknown,
): boolean {
  const basic = btoa(`${credentials.key}:${credentials.secret}`)
  const values: Readonly<Record<string, string>> = { ...credentials, basic }
  return Object.entries(texts).every(([name, text]) => {
    const filled = text.replaceAll(/\{(\w+)\}/g, (place, one: string) => values[one] ?? place)
    return text === '{id}' || given(name) === filled
  })
}

/** The vendor's record of a verification, as it is or as it was before its last change. */
function recordOf(
  decision: VendorDecision,
  { resource, trail }: VerificationRow,
  isStale: boolean,
): object {
  const status = isStale ? (trail.at(-2)?.status ?? 'initiated') : resource.status
  const at = (isStale ? trail.at(-2)?.at : undefined) ?? resource.updatedAt
  const name = nameOf(status)
  const event = { name, id: resource.id, occurredAt: new Date(at), data: resource }
  return found(recordInDialect(decision, event), 'Record')
}

/** The event that tells of a status; `pending_review` has none, and is a submission still. */
function nameOf(status: string): string {
  const known = Object.values(transitions).find(({ to, event }) => event && to === status)?.event
  return known ?? (status === 'pending_review' ? 'verification.submitted' : 'verification.created')
}
