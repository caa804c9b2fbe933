// The routes of the control plane under `/_sandbox`.

import { type Context, Hono } from 'hono'
import { defined } from '../../src/foundation/defined.ts'
import { maskSecret } from '../../src/redaction/redact.ts'
import { assumptions } from './assumptions.ts'
import { deleteClient, updateClient } from './clients.ts'
import type { Subscription } from './deliveries/subscriptions.ts'
import { checked, jsonBody, mount } from './exchange.ts'
import { found, HttpError } from './http-error.ts'
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
import { deliveryFilter } from './schemas/deliveries.ts'
import { faultsBody } from './schemas/faults.ts'
import type { State } from './state.ts'
import { act, assemble, magicNames } from './verifications.ts'

const controlRoutes = (state: State): ControlRoutes => ({
  ...recordRoutes(state),
  ...deliveryRoutes(state),
  ...stateRoutes(state),
})

export function createControl(state: State): Hono {
  return mount(
    new Hono(),
    Object.entries(controlRoutes(state)).map(([place, route]) => {
      const [method = '', path = ''] = place.split(' ')
      const answer = async ({ req }: Context) => {
        const input = await inputOf(route, req.raw, req.param('id'))
        return Response.json(await route.handle(input), { status: route.status ?? 200 })
      }
      return { method, path, answer }
    }),
  )
}

async function inputOf({ query, body, maxBytes }: ControlRoute, request: Request, id = '') {
  const content = body && (await jsonBody(request, maxBytes))
  return {
    id,
    query: query && checked(query, Object.fromEntries(new URL(request.url).searchParams), 'query'),
    body: body && checked(body, content ?? {}, 'request body'),
  }
}

function recordRoutes(state: State) {
  const { organizations, clock } = state
  const clientOf = (id: string) => found(state.clients.get(id), 'Client')
  const saved = <Value>(value: Value | undefined, what: string): Value => {
    const kept = found(value, what)
    state.saveOrganizations()
    return kept
  }
  return {
    'POST /verifications/{id}/actions': route({ body: actionsBody }, ({ id, body }) => {
      const row = found(state.verifications.get(id), 'Verification')
      act(state, row, { steps: body.actions, force: body.force })
      return assemble(row)
    }),
    'PATCH /clients/{id}': route({ body: clientPatch }, ({ id, body }) =>
      updateClient(state, clientOf(id), body),
    ),
    'DELETE /clients/{id}': route({}, ({ id }) => deleteClient(state, clientOf(id))),
    'GET /outbox': route({}, () => ({ data: state.outbox })),
    'GET /organizations': route({}, () => ({ data: organizations.list() })),
    'PATCH /organizations/{id}': route({ body: organizationPatch }, ({ id, body }) =>
      saved(organizations.update(id, body), 'Organization'),
    ),
    'GET /api-keys': route({}, () => ({ data: organizations.keys() })),
    'POST /api-keys': route({ body: keyBody, status: 201 }, ({ body: { organizationId } }) => {
      found(organizations.get(organizationId), 'Organization')
      return saved(organizations.generate(organizationId, clock.now()), 'API key')
    }),
    'POST /api-keys/{id}/rotate': route({}, ({ id }) =>
      saved(organizations.rotate(id, clock.now()), 'Active API key'),
    ),
    'DELETE /api-keys/{id}': route({}, ({ id }) => saved(organizations.revoke(id), 'API key')),
  }
}

/** A subscription as it is shown after its creation. */
function shown(given: Subscription | undefined, reveal?: string): Subscription {
  const subscription = found(given, 'Subscription')
  if (reveal === 'true') return subscription
  return { ...subscription, secret: maskSecret(subscription.secret) }
}

function deliveryRoutes(state: State) {
  const { deliveries } = state
  const { subscriptions } = deliveries
  return {
    'GET /subscriptions': route({ query: reveal }, ({ query }) => ({
      data: subscriptions.list().map((each) => shown(each, query.reveal)),
    })),
    'POST /subscriptions': route({ body: subscriptionBody, status: 201 }, ({ body }) =>
      subscriptions.create(body),
    ),
    'GET /subscriptions/{id}': route({ query: reveal }, ({ id, query }) =>
      shown(subscriptions.get(id), query.reveal),
    ),
    'PATCH /subscriptions/{id}': route({ body: subscriptionPatch }, ({ id, body }) =>
      shown(subscriptions.update(id, body)),
    ),
    'DELETE /subscriptions/{id}': route({}, ({ id }) => ({
      deleted: found(subscriptions.remove(id) || undefined, 'Subscription'),
    })),
    'POST /subscriptions/{id}/rotate': route({ body: rotateBody }, ({ id, body }) =>
      found(subscriptions.rotateSecret(id, body), 'Subscription'),
    ),
    'GET /deliveries': route({ query: deliveryFilter }, ({ query }) => ({
      data: deliveries.list(query),
    })),
    'GET /deliveries/{id}': route({}, ({ id }) => found(deliveries.get(id), 'Delivery')),
    'POST /deliveries/{id}/resend': route({}, ({ id }) => {
      found(deliveries.get(id), 'Delivery')
      const again = deliveries.resend(id)
      if (!again) throw new HttpError(409, 'The subscription of this delivery is gone')
      return again
    }),
    'POST /resend': route({ body: deliveryFilter }, ({ body }) => ({
      resent: deliveries.resendAll(body),
    })),
    'POST /flush': route({}, async () => {
      await state.flush()
      return { flushed: true }
    }),
  }
}

function stateRoutes(state: State) {
  const { clock, faults } = state
  const time = () => ({ now: clock.now().toISOString(), frozen: clock.frozen })
  const allFaults = () => ({ faults: faults.list() })
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
    'GET /faults': route({}, allFaults),
    'PUT /faults': route({ body: faultsBody }, ({ body }) => {
      faults.set(body.faults)
      return allFaults()
    }),
    'DELETE /faults': route({}, () => {
      faults.clear()
      return allFaults()
    }),
    'POST /reset': route({}, () => {
      state.reset()
      return { reset: true }
    }),
    'GET /snapshot': route({}, () => state.snapshot()),
    'PUT /snapshot': route({ body: json, maxBytes: 512 * 1_048_576 }, ({ body }) => {
      state.restore(body)
      return { restored: true }
    }),
    'GET /assumptions': route({}, () => ({
      data: assumptions,
      magicNames,
      magicKeys,
      subscriptionFilters,
    })),
  }
}
