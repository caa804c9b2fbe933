// The control plane under `/_sandbox`: its routes with what each one does. The router, the checks,
// the index and the OpenAPI document read this list.

import { type Context, Hono } from 'hono'
import { defined } from '../../src/foundation/defined.ts'
import { assembledVerificationSchema, clientSchema } from '../../src/protocol/resources.ts'
import { maskSecret } from '../../src/redaction/redact.ts'
import { assumptions } from './assumptions.ts'
import { deleteClient, updateClient } from './clients.ts'
import type { Subscription } from './deliveries/subscriptions.ts'
import { checked, jsonBody, mount } from './exchange.ts'
import { found, HttpError, invalidFields } from './http-error.ts'
import { magicKeys } from './organizations.ts'
import {
  actionsBody,
  advanceBody,
  type ControlRoute,
  type ControlRoutes,
  clientPatch,
  clockBody,
  clockSchema,
  json,
  keyBody,
  keySchema,
  list,
  organizationPatch,
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
import type { State } from './state.ts'
import { act, assemble, magicNames, type Step } from './verifications.ts'

/** The routes of the control plane, their paths relative to `controlPath`. */
export function controlRoutes(state: State): ControlRoutes {
  return {
    ...resourceRoutes(state),
    ...subscriptionRoutes(state),
    ...deliveryRoutes(state),
    ...timeRoutes(state),
    ...faultRoutes(state),
    ...stateRoutes(state),
    ...accessRoutes(state),
  }
}

/** The router of the control plane. */
export function createControl(routes: ControlRoutes): Hono {
  return mount(
    new Hono(),
    Object.entries(routes).map(([place, route]) => {
      const [method = '', path = ''] = place.split(' ')
      const answer = async ({ req }: Context) => {
        const input = await inputOf(route, req.raw, req.param('id'))
        return Response.json(await route.handle(input), { status: route.status ?? 200 })
      }
      return { method, path, answer }
    }),
  )
}

async function inputOf(
  { query, body, bodyOptional, maxBytes }: ControlRoute,
  request: Request,
  id = '',
) {
  const content = body && (await jsonBody(request, maxBytes))
  if (body && content === undefined && !bodyOptional) {
    throw new HttpError(400, 'The request has no JSON body')
  }
  return {
    id,
    query: query && checked(query, Object.fromEntries(new URL(request.url).searchParams), 'query'),
    body: body && checked(body, content ?? {}, 'request body'),
  }
}

function resourceRoutes(state: State) {
  const clientOf = (id: string) => found(state.clients.get(id), 'Client')
  return {
    'POST /verifications/{id}/actions': route(
      'Act on a verification as its subject, its operator or the clock',
      { body: actionsBody, response: assembledVerificationSchema },
      ({ id, body }) => {
        const row = found(state.verifications.get(id), 'Verification')
        act(state, row, { steps: body.actions.map(toStep), force: body.force })
        return assemble(row)
      },
    ),
    'PATCH /clients/{id}': route(
      'Update a client',
      { body: clientPatch, response: clientSchema },
      ({ id, body }) => updateClient(state, clientOf(id), body),
    ),
    'DELETE /clients/{id}': route('Soft-delete a client', { response: clientSchema }, ({ id }) =>
      deleteClient(state, clientOf(id)),
    ),
  }
}

/** An action by its name alone, or with a step or a reason. */
export function toStep(action: Step['action'] | Step): Step {
  return typeof action === 'string' ? { action } : action
}

function subscriptionRoutes({ deliveries: { subscriptions } }: State) {
  const one = (subscription: Subscription | undefined) => found(subscription, 'Subscription')
  const response = subscriptionSchema
  return {
    'GET /subscriptions': route(
      'List subscriptions; secrets are masked unless reveal=true',
      { query: reveal, response: list(response) },
      ({ query }) => ({ data: subscriptions.list().map((each) => shown(each, query.reveal)) }),
    ),
    'POST /subscriptions': route(
      'Create a subscription; the answer shows its secret',
      { body: subscriptionBody, status: 201, response },
      ({ body }) => subscriptions.create(body),
    ),
    'GET /subscriptions/{id}': route(
      'Get a subscription; its secret is masked unless reveal=true',
      { query: reveal, response },
      ({ id, query }) => shown(one(subscriptions.get(id)), query.reveal),
    ),
    'PATCH /subscriptions/{id}': route(
      'Change, pause or resume a subscription',
      { body: subscriptionPatch, response },
      ({ id, body }) => shown(one(subscriptions.update(id, body))),
    ),
    'DELETE /subscriptions/{id}': route('Delete a subscription', {}, ({ id }) => {
      found(subscriptions.remove(id) || undefined, 'Subscription')
      return { deleted: true }
    }),
    'POST /subscriptions/{id}/rotate': route(
      'Set a new secret of a subscription; the old one signs beside it for a while',
      { body: rotateBody, bodyOptional: true, response },
      ({ id, body }) => one(subscriptions.rotateSecret(id, body)),
    ),
  }
}

/** A subscription as it is shown after its creation. */
function shown(subscription: Subscription, reveal?: string): Subscription {
  if (reveal === 'true') return subscription
  return { ...subscription, secret: maskSecret(subscription.secret) }
}

function deliveryRoutes(state: State) {
  const { deliveries } = state
  return {
    'GET /deliveries': route(
      'List deliveries, newest first; all of them, or with page or limit a page',
      { query: deliveryQuery, response: deliveryPage },
      ({ query: { page = 1, limit, ...filter } }) => {
        const all = deliveries.list(filter)
        const size = limit ?? (page > 1 ? 100 : undefined)
        return size === undefined ? { data: all } : pageOf(all, { page, limit: size })
      },
    ),
    'GET /deliveries/{id}': route(
      'Get a delivery with its attempts and their exact bytes',
      { response: deliverySchema },
      ({ id }) => found(deliveries.get(id), 'Delivery'),
    ),
    'POST /deliveries/{id}/resend': route(
      'Send a delivery again',
      { response: deliverySchema },
      ({ id }) => {
        found(deliveries.get(id), 'Delivery')
        const again = deliveries.resend(id)
        if (!again) throw new HttpError(409, 'The subscription of this delivery is gone')
        return again
      },
    ),
    'POST /resend': route(
      'Send again every delivery that fits a filter',
      { body: deliveryFilter, bodyOptional: true },
      ({ body }) => ({ resent: deliveries.resendAll(body) }),
    ),
    'POST /flush': route('Wait until no delivery and no mail is due', {}, async () => {
      await state.flush()
      return { flushed: true }
    }),
  }
}

function timeRoutes({ clock }: State) {
  const time = () => ({ now: clock.now().toISOString(), frozen: clock.frozen })
  const response = clockSchema
  return {
    'GET /clock': route('Get the time of the sandbox', { response }, time),
    'PUT /clock': route(
      'Set, freeze or release the clock',
      { body: clockBody, response },
      async ({ body: { now, frozen } }) => {
        if (frozen === true) clock.freeze()
        if (now !== undefined) await clock.set(new Date(now))
        if (frozen === false) clock.unfreeze()
        return time()
      },
    ),
    'POST /clock/advance': route(
      'Advance the clock; what falls due happens in the order of time',
      { body: advanceBody, response },
      async ({ body }) => {
        await clock.advance(defined(body))
        return time()
      },
    ),
  }
}

function faultRoutes({ faults }: State) {
  const all = () => ({ faults: faults.list() })
  const response = faultsBody
  return {
    'GET /faults': route('List the faults that are set', { response }, all),
    'PUT /faults': route('Replace the faults', { body: faultsBody, response }, ({ body }) => {
      faults.set(body.faults)
      return all()
    }),
    'DELETE /faults': route('Remove all faults', { response }, () => {
      faults.clear()
      return all()
    }),
  }
}

function stateRoutes(state: State) {
  return {
    'POST /reset': route('Back to the state right after the start', {}, () => {
      state.reset()
      return { reset: true }
    }),
    'GET /snapshot': route('The whole state as JSON, secrets included', {}, () => state.snapshot()),
    'PUT /snapshot': route(
      'Replace the whole state by a snapshot',
      { body: json, maxBytes: 512 * 1_048_576 },
      ({ body }) => {
        state.restore(body)
        return { restored: true }
      },
    ),
    'GET /outbox': route('The mail that the service would send', { response: list(json) }, () => ({
      data: state.outbox,
    })),
    'GET /assumptions': route(
      'What the service’s document does not show, and how the sandbox reads it',
      {},
      () => ({ data: assumptions, magicNames, magicKeys, subscriptionFilters }),
    ),
  }
}

function accessRoutes(state: State) {
  const { organizations, clock } = state
  const saved = <Value>(value: Value | undefined, what: string): Value => {
    const kept = found(value, what)
    state.saveOrganizations()
    return kept
  }
  const response = keySchema
  return {
    'GET /organizations': route(
      'List the organizations with their plans',
      { response: list(json) },
      () => ({ data: organizations.list() }),
    ),
    'PATCH /organizations/{id}': route(
      'Change an organization’s plan, payment or rate',
      { body: organizationPatch },
      ({ id, body }) => saved(organizations.update(id, body), 'Organization'),
    ),
    'GET /api-keys': route('List API keys, masked', { response: list(response) }, () => ({
      data: organizations.keys(),
    })),
    'POST /api-keys': route(
      'Generate an API key; it is shown only once',
      { body: keyBody, status: 201, response },
      ({ body: { organizationId } }) => {
        if (!organizations.get(organizationId)) {
          throw invalidFields([{ field: 'organizationId', message: 'names no organization' }])
        }
        return saved(organizations.generate(organizationId, clock.now()), 'API key')
      },
    ),
    'POST /api-keys/{id}/rotate': route(
      'Replace an API key; the new one is shown only once',
      { response },
      ({ id }) => saved(organizations.rotate(id, clock.now()), 'Active API key'),
    ),
    'DELETE /api-keys/{id}': route('Revoke an API key', { response }, ({ id }) =>
      saved(organizations.revoke(id), 'API key'),
    ),
  }
}
