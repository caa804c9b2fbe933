// The control plane under `/_sandbox`: its routes with what each one does. The router, the checks,
// the index and the OpenAPI document read this list.
import { Hono } from 'hono'
import { defined } from '../../src/foundation/defined.ts'
import { assembledVerificationSchema, clientSchema } from '../../src/protocol/resources.ts'
import { assemble } from './assemble.ts'
import { assumptions } from './assumptions.ts'
import { deleteClient, updateClient } from './clients.ts'
import type { Core } from './core.ts'
import { refuseFromWithin } from './deliveries/from-within.ts'
import type { Subscription } from './deliveries/subscriptions.ts'
import { checked, jsonBody, mount, queryOf } from './exchange.ts'
import { found, HttpError, invalidFields } from './http-error.ts'
import { magicKeys, magicNames } from './magic.ts'
import { mask } from './organizations.ts'
import { profile } from './profile.ts'
import {
  actionsBody,
  advanceBody,
  type ControlRoute,
  clientPatch,
  clockBody,
  clockSchema,
  id,
  json,
  keyBody,
  keySchema,
  list,
  organizationPatch,
  resentSchema,
  reveal,
  rotateBody,
  route,
  subscriptionBody,
  subscriptionFilters,
  subscriptionPatch,
  subscriptionSchema,
} from './schemas/control.ts'
import {
  deliveryFilter,
  deliveryPage,
  deliveryQuery,
  deliverySchema,
} from './schemas/deliveries.ts'
import { faultsBody } from './schemas/faults.ts'
import { pageOf } from './selections.ts'
import { act, type Step } from './verifications.ts'

/** The routes of the control plane, their paths relative to `controlPath`. */
export function controlRoutes(core: Core): readonly ControlRoute[] {
  return [
    ...resourceRoutes(core),
    ...subscriptionRoutes(core),
    ...deliveryRoutes(core),
    ...timeRoutes(core),
    ...faultRoutes(core),
    ...stateRoutes(core),
    ...accessRoutes(core),
  ]
}

/** The router of the control plane. */
export function createControl(routes: readonly ControlRoute[]): Hono {
  return mount(
    new Hono(),
    routes.map((one) => ({
      ...one,
      async answer({ req }) {
        const input = await inputOf(one, req.raw, req.param())
        return Response.json(await one.handle(input), { status: one.status ?? 200 })
      },
    })),
  )
}

/** A snapshot nests records, which nest the content of request bodies. */
const maxLevels = profile.maxLevels + 20

async function inputOf(
  { params, query, body, bodyOptional, maxBytes }: ControlRoute,
  request: Request,
  values: Readonly<Record<string, string>>,
) {
  const content = body && (await jsonBody(request, { maxBytes, maxLevels }))
  if (body && content === undefined && !bodyOptional) {
    throw new HttpError(400, 'The request has no JSON body')
  }
  return {
    params: params && checked(params, values, 'path'),
    query: query && checked(query, queryOf(request.url), 'query'),
    body: body && checked(body, content ?? {}, 'request body'),
  }
}

function resourceRoutes({ state }: Core) {
  const clientOf = (id: string) => found(state.clients.get(id), 'Client')
  return [
    route({
      name: 'act',
      method: 'POST',
      path: '/verifications/{id}/actions',
      summary: 'Act on a verification as its subject, its operator or the clock',
      params: id,
      body: actionsBody,
      response: assembledVerificationSchema,
      handle({ params, body }) {
        const row = found(state.verifications.get(params.id), 'Verification')
        act(state, row, { steps: body.actions.map(toStep), force: body.force })
        return assemble(row)
      },
    }),
    route({
      name: 'updateClient',
      method: 'PATCH',
      path: '/clients/{id}',
      summary: 'Update a client',
      params: id,
      body: clientPatch,
      response: clientSchema,
      handle: ({ params, body }) => updateClient(state, clientOf(params.id), body),
    }),
    route({
      name: 'deleteClient',
      method: 'DELETE',
      path: '/clients/{id}',
      summary: 'Soft-delete a client',
      params: id,
      response: clientSchema,
      handle: ({ params }) => deleteClient(state, clientOf(params.id)),
    }),
  ]
}

/** An action by its name alone, or with a step or a reason. */
export function toStep(action: Step['action'] | Step): Step {
  return typeof action === 'string' ? { action } : action
}

function subscriptionRoutes({ deliveries: { subscriptions } }: Core) {
  const one = (subscription: Subscription | undefined) => found(subscription, 'Subscription')
  return [
    route({
      name: 'listSubscriptions',
      method: 'GET',
      path: '/subscriptions',
      summary: 'List subscriptions; secrets are masked unless reveal=true',
      query: reveal,
      response: list(subscriptionSchema),
      handle: ({ query }) => ({
        data: subscriptions.list().map((each) => shown(each, query.reveal)),
      }),
    }),
    route({
      name: 'createSubscription',
      method: 'POST',
      path: '/subscriptions',
      summary: 'Create a subscription; the answer shows its secret',
      body: subscriptionBody,
      status: 201,
      response: subscriptionSchema,
      handle: ({ body }) => subscriptions.create(body),
    }),
    route({
      name: 'getSubscription',
      method: 'GET',
      path: '/subscriptions/{id}',
      summary: 'Get a subscription; its secret is masked unless reveal=true',
      params: id,
      query: reveal,
      response: subscriptionSchema,
      handle: ({ params, query }) => shown(one(subscriptions.get(params.id)), query.reveal),
    }),
    route({
      name: 'updateSubscription',
      method: 'PATCH',
      path: '/subscriptions/{id}',
      summary: 'Change, pause or resume a subscription',
      params: id,
      body: subscriptionPatch,
      response: subscriptionSchema,
      handle: ({ params, body }) => shown(one(subscriptions.update(params.id, body))),
    }),
    route({
      name: 'deleteSubscription',
      method: 'DELETE',
      path: '/subscriptions/{id}',
      summary: 'Delete a subscription',
      params: id,
      response: json,
      handle({ params }) {
        found(subscriptions.remove(params.id) || undefined, 'Subscription')
        return { deleted: true }
      },
    }),
    route({
      name: 'rotateSecret',
      method: 'POST',
      path: '/subscriptions/{id}/rotate',
      summary: 'Set a new secret of a subscription; the old one signs beside it for a while',
      params: id,
      body: rotateBody,
      bodyOptional: true,
      response: subscriptionSchema,
      handle: ({ params, body }) => one(subscriptions.rotateSecret(params.id, body)),
    }),
  ]
}

/** A subscription as it is shown after its creation. */
function shown(subscription: Subscription, reveal?: string): Subscription {
  if (reveal === 'true') return subscription
  return { ...subscription, secret: mask(subscription.secret) }
}

function deliveryRoutes(core: Core) {
  const { deliveries } = core
  return [
    route({
      name: 'listDeliveries',
      method: 'GET',
      path: '/deliveries',
      summary: 'List deliveries, newest first; all of them, or with page or limit a page',
      query: deliveryQuery,
      response: deliveryPage,
      handle({ query: { page = 1, limit, ...filter } }) {
        const all = deliveries.list(filter)
        const size = limit ?? (page > 1 ? 100 : undefined)
        return size === undefined ? { data: all } : pageOf(all, { page, limit: size })
      },
    }),
    route({
      name: 'getDelivery',
      method: 'GET',
      path: '/deliveries/{id}',
      summary: 'Get a delivery with its attempts and their exact bytes',
      params: id,
      response: deliverySchema,
      handle: ({ params }) => found(deliveries.get(params.id), 'Delivery'),
    }),
    route({
      name: 'resendDelivery',
      method: 'POST',
      path: '/deliveries/{id}/resend',
      summary: 'Send a delivery again',
      params: id,
      response: deliverySchema,
      handle({ params }) {
        found(deliveries.get(params.id), 'Delivery')
        const again = deliveries.resend(params.id)
        if (!again) throw new HttpError(409, 'The subscription of this delivery is gone')
        return again
      },
    }),
    route({
      name: 'resendDeliveries',
      method: 'POST',
      path: '/resend',
      summary: 'Send again every delivery that fits a filter',
      body: deliveryFilter,
      bodyOptional: true,
      response: resentSchema,
      handle: ({ body }) => ({ resent: deliveries.resendAll(body) }),
    }),
    route({
      name: 'flush',
      method: 'POST',
      path: '/flush',
      summary: 'Wait until no delivery and no mail is due',
      response: json,
      async handle() {
        await core.flush()
        return { flushed: true }
      },
    }),
  ]
}

function timeRoutes({ clock }: Core) {
  const time = () => ({ now: clock.now().toISOString(), frozen: clock.frozen })
  return [
    route({
      name: 'getClock',
      method: 'GET',
      path: '/clock',
      summary: 'Get the time of the sandbox',
      response: clockSchema,
      handle: time,
    }),
    route({
      name: 'setClock',
      method: 'PUT',
      path: '/clock',
      summary: 'Set, freeze or release the clock',
      body: clockBody,
      response: clockSchema,
      async handle({ body: { now, frozen } }) {
        if (now !== undefined) refuseFromWithin('setting the clock')
        if (frozen === true) clock.freeze()
        if (now !== undefined) await clock.set(new Date(now))
        if (frozen === false) clock.unfreeze()
        return time()
      },
    }),
    route({
      name: 'advanceClock',
      method: 'POST',
      path: '/clock/advance',
      summary: 'Advance the clock; what falls due happens in the order of time',
      body: advanceBody,
      response: clockSchema,
      async handle({ body }) {
        refuseFromWithin('advancing the clock')
        await clock.advance(defined(body))
        return time()
      },
    }),
  ]
}

function faultRoutes({ faults }: Core) {
  const all = () => ({ faults: faults.list() })
  const common = { path: '/faults', response: faultsBody } as const
  return [
    route({
      ...common,
      name: 'getFaults',
      method: 'GET',
      summary: 'List the faults that are set',
      handle: all,
    }),
    route({
      ...common,
      name: 'setFaults',
      method: 'PUT',
      summary: 'Replace the faults',
      body: faultsBody,
      handle({ body }) {
        faults.set(body.faults)
        return all()
      },
    }),
    route({
      ...common,
      name: 'clearFaults',
      method: 'DELETE',
      summary: 'Remove all faults',
      handle() {
        faults.clear()
        return all()
      },
    }),
  ]
}

function stateRoutes(core: Core) {
  return [
    route({
      name: 'reset',
      method: 'POST',
      path: '/reset',
      summary: 'Back to the state right after the start',
      response: json,
      handle() {
        core.reset()
        return { reset: true }
      },
    }),
    route({
      name: 'getSnapshot',
      method: 'GET',
      path: '/snapshot',
      summary: 'The whole state as JSON, secrets included',
      response: json,
      handle: () => core.snapshot(),
    }),
    route({
      name: 'putSnapshot',
      method: 'PUT',
      path: '/snapshot',
      summary: 'Replace the whole state by a snapshot',
      body: json,
      maxBytes: 512 * 1_048_576,
      response: json,
      handle({ body }) {
        core.restore(body)
        return { restored: true }
      },
    }),
    route({
      name: 'getOutbox',
      method: 'GET',
      path: '/outbox',
      summary: 'The mail that the service would send',
      response: list(json),
      handle: () => ({ data: core.state.outbox.list() }),
    }),
    route({
      name: 'getAssumptions',
      method: 'GET',
      path: '/assumptions',
      summary: 'What the service’s document does not show, and how the sandbox reads it',
      response: json,
      handle: () => ({ data: assumptions, magicNames, magicKeys, subscriptionFilters }),
    }),
  ]
}

function accessRoutes({ state }: Core) {
  const { organizations, clock } = state
  const saved = <Value>(value: Value | undefined, what: string): Value => {
    const kept = found(value, what)
    state.saveOrganizations()
    return kept
  }
  return [
    route({
      name: 'listOrganizations',
      method: 'GET',
      path: '/organizations',
      summary: 'List the organizations with their plans',
      response: list(json),
      handle: () => ({ data: organizations.list() }),
    }),
    route({
      name: 'updateOrganization',
      method: 'PATCH',
      path: '/organizations/{id}',
      summary: 'Change an organization’s plan, payment or rate',
      params: id,
      body: organizationPatch,
      response: json,
      handle: ({ params, body }) => saved(organizations.update(params.id, body), 'Organization'),
    }),
    route({
      name: 'listKeys',
      method: 'GET',
      path: '/api-keys',
      summary: 'List API keys, masked',
      response: list(keySchema),
      handle: () => ({ data: organizations.keys() }),
    }),
    route({
      name: 'createKey',
      method: 'POST',
      path: '/api-keys',
      summary: 'Generate an API key; it is shown only once',
      body: keyBody,
      status: 201,
      response: keySchema,
      handle({ body: { organizationId } }) {
        if (!organizations.get(organizationId)) {
          throw invalidFields([{ field: 'organizationId', message: 'names no organization' }])
        }
        return saved(organizations.generate(organizationId, clock.now()), 'API key')
      },
    }),
    route({
      name: 'rotateKey',
      method: 'POST',
      path: '/api-keys/{id}/rotate',
      summary: 'Replace an API key; the new one is shown only once',
      params: id,
      response: keySchema,
      handle: ({ params }) => saved(organizations.rotate(params.id, clock.now()), 'Active API key'),
    }),
    route({
      name: 'revokeKey',
      method: 'DELETE',
      path: '/api-keys/{id}',
      summary: 'Revoke an API key',
      params: id,
      response: keySchema,
      handle: ({ params }) => saved(organizations.revoke(params.id), 'API key'),
    }),
  ]
}
