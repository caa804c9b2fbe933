// The routes of the control plane under `/_sandbox`.

import { type Context, Hono } from 'hono'
import { defined } from '../../src/foundation/defined.ts'
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
  json,
  keyBody,
  organizationPatch,
  reveal,
  rotateBody,
  route,
  subscriptionBody,
  subscriptionFilters,
  subscriptionPatch,
} from './schemas/control.ts'
import { deliveryFilter, deliveryQuery } from './schemas/deliveries.ts'
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
    'POST /verifications/{id}/actions': route({ body: actionsBody }, ({ id, body }) => {
      const row = found(state.verifications.get(id), 'Verification')
      act(state, row, { steps: body.actions.map(toStep), force: body.force })
      return assemble(row)
    }),
    'PATCH /clients/{id}': route({ body: clientPatch }, ({ id, body }) =>
      updateClient(state, clientOf(id), body),
    ),
    'DELETE /clients/{id}': route({}, ({ id }) => deleteClient(state, clientOf(id))),
  }
}

/** Reads an action: a name, or an object with a step or a reason. */
export function toStep(action: Step['action'] | Step): Step {
  return typeof action === 'string' ? { action } : action
}

function subscriptionRoutes({ deliveries: { subscriptions } }: State) {
  const one = (subscription: Subscription | undefined) => found(subscription, 'Subscription')
  return {
    'GET /subscriptions': route({ query: reveal }, ({ query }) => ({
      data: subscriptions.list().map((each) => shown(each, query.reveal)),
    })),
    'POST /subscriptions': route({ body: subscriptionBody, status: 201 }, ({ body }) =>
      subscriptions.create(body),
    ),
    'GET /subscriptions/{id}': route({ query: reveal }, ({ id, query }) =>
      shown(one(subscriptions.get(id)), query.reveal),
    ),
    'PATCH /subscriptions/{id}': route({ body: subscriptionPatch }, ({ id, body }) =>
      shown(one(subscriptions.update(id, body))),
    ),
    'DELETE /subscriptions/{id}': route({}, ({ id }) => {
      found(subscriptions.remove(id) || undefined, 'Subscription')
      return { deleted: true }
    }),
    'POST /subscriptions/{id}/rotate': route(
      { body: rotateBody, bodyOptional: true },
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
      { query: deliveryQuery },
      ({ query: { page = 1, limit, ...filter } }) => {
        const all = deliveries.list(filter)
        const size = limit ?? (page > 1 ? 100 : undefined)
        return size === undefined ? { data: all } : pageOf(all, { page, limit: size })
      },
    ),
    'GET /deliveries/{id}': route({}, ({ id }) => found(deliveries.get(id), 'Delivery')),
    'POST /deliveries/{id}/resend': route({}, ({ id }) => {
      found(deliveries.get(id), 'Delivery')
      const again = deliveries.resend(id)
      if (!again) throw new HttpError(409, 'The subscription of this delivery is gone')
      return again
    }),
    'POST /resend': route({ body: deliveryFilter, bodyOptional: true }, ({ body }) => ({
      resent: deliveries.resendAll(body),
    })),
    'POST /flush': route({}, async () => {
      await state.flush()
      return { flushed: true }
    }),
  }
}

function timeRoutes({ clock }: State) {
  const time = () => ({ now: clock.now().toISOString(), frozen: clock.frozen })
  return {
    'GET /clock': route({}, time),
    'PUT /clock': route({ body: clockBody }, async ({ body: { now, frozen } }) => {
      if (frozen === true) clock.freeze()
      if (now !== undefined) await clock.set(new Date(now))
      if (frozen === false) clock.unfreeze()
      return time()
    }),
    'POST /clock/advance': route({ body: advanceBody }, async ({ body }) => {
      await clock.advance(defined(body))
      return time()
    }),
  }
}

function faultRoutes({ faults }: State) {
  const all = () => ({ faults: faults.list() })
  return {
    'GET /faults': route({}, all),
    'PUT /faults': route({ body: faultsBody }, ({ body }) => {
      faults.set(body.faults)
      return all()
    }),
    'DELETE /faults': route({}, () => {
      faults.clear()
      return all()
    }),
  }
}

function stateRoutes(state: State) {
  return {
    'POST /reset': route({}, () => {
      state.reset()
      return { reset: true }
    }),
    'GET /snapshot': route({}, () => state.snapshot()),
    'PUT /snapshot': route({ body: json, maxBytes: 512 * 1_048_576 }, ({ body }) => {
      state.restore(body)
      return { restored: true }
    }),
    'GET /outbox': route({}, () => ({
      data: state.outbox,
    })),
    'GET /assumptions': route({}, () => ({
      data: assumptions,
      magicNames,
      magicKeys,
      subscriptionFilters,
    })),
  }
}

function accessRoutes(state: State) {
  const { organizations, clock } = state
  const saved = <Value>(value: Value | undefined, what: string): Value => {
    const kept = found(value, what)
    state.saveOrganizations()
    return kept
  }
  return {
    'GET /organizations': route({}, () => ({ data: organizations.list() })),
    'PATCH /organizations/{id}': route({ body: organizationPatch }, ({ id, body }) =>
      saved(organizations.update(id, body), 'Organization'),
    ),
    'GET /api-keys': route({}, () => ({
      data: organizations.keys(),
    })),
    'POST /api-keys': route({ body: keyBody, status: 201 }, ({ body: { organizationId } }) => {
      if (!organizations.get(organizationId)) {
        throw invalidFields([{ field: 'organizationId', message: 'names no organization' }])
      }
      return saved(organizations.generate(organizationId, clock.now()), 'API key')
    }),
    'POST /api-keys/{id}/rotate': route({}, ({ id }) =>
      saved(organizations.rotate(id, clock.now()), 'Active API key'),
    ),
    'DELETE /api-keys/{id}': route({}, ({ id }) => saved(organizations.revoke(id), 'API key')),
  }
}
