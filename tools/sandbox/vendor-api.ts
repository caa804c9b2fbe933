// The API of the vendor whose part a sandbox plays: the paths, the authentication and the records
// that its preset has, and where a receiver gets the key of its signature.
import { generateKeyPairSync } from 'node:crypto'
import type { Context, Hono } from 'hono'
import type { Vendor, VendorDecision } from '../../src/protocol/vendor.ts'
import type { VendorCall } from '../../src/protocol/vendor-api.ts'
import { recordInDialect } from '../../src/vendors/dialect.ts'
import { jsonBody, type MountedRoute, mount } from './exchange.ts'
import { found, HttpError } from './http-error.ts'
import type { VerificationRow } from './schemas/snapshot.ts'
import type { State } from './state.ts'
import { transitions } from './transitions.ts'
import { publicKeyOf } from './vendor.ts'

/** The credentials that every vendor's API takes; they are as well known as the API keys. */
export const apiCredentials = {
  token: 'sandbox-token',
  key: 'sandbox-key',
  secret: 'sandbox-secret',
  clientId: 'sandbox-client',
}

let pem: string | undefined

/** The credentials of a vendor's API; requests to Yoti are signed with a private key. */
export function credentialsOf(vendor: Vendor | undefined): typeof apiCredentials {
  if (vendor?.name !== 'yoti') return apiCredentials
  pem ??= String(
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }),
  )
  return { ...apiCredentials, secret: pem }
}

/** How a vendor gives the public key of its signature by the key's id. */
const keyRequests: Readonly<Record<string, Pick<VendorCall, 'path' | 'body'>>> = {
  plaid: {
    path: '/webhook_verification_key/get',
    body: { client_id: '{clientId}', secret: '{secret}', key_id: '{id}' },
  },
}

/** Mounts the API; a request meets faults before it is answered. */
export function mountVendorApi(
  app: Hono,
  state: State,
  meetFault: (context: Context, next: () => Promise<void>) => Promise<void>,
): void {
  const { vendor } = state
  const keys = vendor && keyRequests[vendor.name]
  const routes = (vendor?.decisions ?? []).map((decision) =>
    routeOf(decision.request, (id, context) => {
      const row = found(state.verifications.get(id), 'Verification')
      return recordOf(decision, row, context.get('fault') === 'stale-record')
    }),
  )
  if (keys) {
    const { jwk } = publicKeyOf(state.secret, vendor.scheme) ?? {}
    routes.push(
      routeOf({ method: 'POST', ...keys }, (id) => ({
        key: { ...found(jwk?.kid === id ? jwk : undefined, 'Key'), expired_at: null },
      })),
    )
  }
  for (const { request } of vendor?.decisions ?? []) {
    const { login } = request
    if (login) routes.push(routeOf(login, () => ({ [login.token]: apiCredentials.token })))
  }
  const patterns = routes.map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1'))
  for (const pattern of new Set(patterns)) app.use(pattern, meetFault)
  mount(app, routes)
}

type Respond = (id: string, context: Context) => object

function routeOf(request: Omit<VendorCall, 'baseUrl'>, answer: Respond): MountedRoute {
  const { method = 'GET', path, headers = {}, body = {} } = request
  return {
    method,
    // A place in the path other than the id takes any text.
    path: path.replace(/\?.*/, '').replaceAll(/[.](?=[^{]*\})/g, '_'),
    async answer(context) {
      const { raw } = context.req
      const given = Object(request.body ? await jsonBody(raw) : undefined)
      const isGiven =
        Object.entries(headers).every(([name, text]) => raw.headers.get(name) === filled(text)) &&
        Object.entries(body).every(
          ([name, text]) => text === '{id}' || given[name] === filled(text),
        )
      if (!isGiven) throw new HttpError(401, 'Missing or invalid credentials of the API')
      const field = Object.keys(body).find((name) => body[name] === '{id}')
      const id = field === undefined ? context.req.param('id') : given[field]
      return Response.json(answer(String(id), context))
    },
  }
}

/** A text of a request with the credentials in their places. */
function filled(text: string): string {
  const { key, secret } = apiCredentials
  const values: Readonly<Record<string, string>> = {
    ...apiCredentials,
    basic: btoa(`${key}:${secret}`),
  }
  return text.replaceAll(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place)
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
