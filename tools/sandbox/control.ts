// The control plane under `/_sandbox`: its routes with what each one does. The router, the checks,
// the index and the OpenAPI document read this list.

import { type Context, Hono } from 'hono'
import { defined } from '../../src/foundation/defined.ts'
import { assembledVerificationSchema, clientSchema } from '../../src/protocol/resources.ts'
import { maskSecret } from '../../src/redaction/redact.ts'
import { assumptions } from './assumptions.ts'
import { deleteClient, updateClient } from './clients.ts'
import { refuseFromWithin } from './deliveries/attempt.ts'
import type { Subscription } from './deliveries/subscriptions.ts'
import { checked, jsonBody, mount, queryOf } from './exchange.ts'
import { found, HttpError, invalidFields } from './http-error.ts'
import { magicKeys } from './organizations.ts'
import { profile } from './profile.ts'
import {
  actionsBody,
  advanceBody,
  type ControlRoute,
  type ControlRoutes,
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
        const input = await inputOf(route, req.raw, req.param())
        return Response.json(await route.handle(input), { status: route.status ?? 200 })
      }
      return { method, path, answer }
    }),
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

function resourceRoutes(state: State) {
  const clientOf = (id: string) => found(state.clients.get(id), 'Client')
  return {
    'POST /verifications/{id}/actions': route(
      'Act on a verification as its subject, its operator or the clock',
      {
        params: id,
        body: actionsBody,
        response: assembledVerificationSchema,
        handle({ params, body }) {
          const row = found(state.verifications.get(params.id), 'Verification')
          act(state, row, { steps: body.actions.map(toStep), force: body.force })
          return assemble(row)
        },
      },
    ),
    'PATCH /clients/{id}': route('Update a client', {
      params: id,
      body: clientPatch,
      response: clientSchema,
      handle: ({ params, body }) => updateClient(state, clientOf(params.id), body),
    }),
    'DELETE /clients/{id}': route('Soft-delete a client', {
      params: id,
      response: clientSchema,
      handle: ({ params }) => deleteClient(state, clientOf(params.id)),
    }),
  }
}

/** An action by its name alone, or with a step or a reason. */
export function toStep(action: Step['action'] | Step): Step {
  return typeof action === 'string' ? { action } : action
}

function subscriptionRoutes({ deliveries: { subscriptions } }: State) {
  const one = (subscription: Subscription | undefined) => found(subscription, 'Subscription')
  return {
    'GET /subscriptions': route('List subscriptions; secrets are masked unless reveal=true', {
      query: reveal,
      response: list(subscriptionSchema),
      handle: ({ query }) => ({
        data: subscriptions.list().map((each) => shown(each, query.reveal)),
      }),
    }),
    'POST /subscriptions': route('Create a subscription; the answer shows its secret', {
      body: subscriptionBody,
      status: 201,
      response: subscriptionSchema,
      handle: ({ body }) => subscriptions.create(body),
    }),
    'GET /subscriptions/{id}': route(
      'Get a subscription; its secret is masked unless reveal=true',
      {
        params: id,
        query: reveal,
        response: subscriptionSchema,
        handle: ({ params, query }) => shown(one(subscriptions.get(params.id)), query.reveal),
      },
    ),
    'PATCH /subscriptions/{id}': route('Change, pause or resume a subscription', {
      params: id,
      body: subscriptionPatch,
      response: subscriptionSchema,
      handle: ({ params, body }) => shown(one(subscriptions.update(params.id, body))),
    }),
    'DELETE /subscriptions/{id}': route('Delete a subscription', {
      params: id,
      response: json,
      handle({ params }) {
        found(subscriptions.remove(params.id) || undefined, 'Subscription')
        return { deleted: true }
      },
    }),
    'POST /subscriptions/{id}/rotate': route(
      'Set a new secret of a subscription; the old one signs beside it for a while',
      {
        params: id,
        body: rotateBody,
        bodyOptional: true,
        response: subscriptionSchema,
        handle: ({ params, body }) => one(subscriptions.rotateSecret(params.id, body)),
      },
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
      {
        query: deliveryQuery,
        response: deliveryPage,
        handle({ query: { page = 1, limit, ...filter } }) {
          const all = deliveries.list(filter)
          const size = limit ?? (page > 1 ? 100 : undefined)
          return size === undefined ? { data: all } : pageOf(all, { page, limit: size })
        },
      },
    ),
    'GET /deliveries/{id}': route('Get a delivery with its attempts and their exact bytes', {
      params: id,
      response: deliverySchema,
      handle: ({ params }) => found(deliveries.get(params.id), 'Delivery'),
    }),
    'POST /deliveries/{id}/resend': route('Send a delivery again', {
      params: id,
      response: deliverySchema,
      handle({ params }) {
        found(deliveries.get(params.id), 'Delivery')
        const again = deliveries.resend(params.id)
        if (!again) throw new HttpError(409, 'The subscription of this delivery is gone')
        return again
      },
    }),
    'POST /resend': route('Send again every delivery that fits a filter', {
      body: deliveryFilter,
      bodyOptional: true,
      response: resentSchema,
      handle: ({ body }) => ({ resent: deliveries.resendAll(body) }),
    }),
    'POST /flush': route('Wait until no delivery and no mail is due', {
      response: json,
      async handle() {
        await state.flush()
        return { flushed: true }
      },
    }),
  }
}

function timeRoutes({ clock }: State) {
  const time = () => ({ now: clock.now().toISOString(), frozen: clock.frozen })
  return {
    'GET /clock': route('Get the time of the sandbox', {
      response: clockSchema,
      handle: time,
    }),
    'PUT /clock': route('Set, freeze or release the clock', {
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
    'POST /clock/advance': route('Advance the clock; what falls due happens in the order of time', {
      body: advanceBody,
      response: clockSchema,
      async handle({ body }) {
        await clock.advance(defined(body))
        return time()
      },
    }),
  }
}

function faultRoutes({ faults }: State) {
  const all = () => ({ faults: faults.list() })
  return {
    'GET /faults': route('List the faults that are set', {
      response: faultsBody,
      handle: all,
    }),
    'PUT /faults': route('Replace the faults', {
      response: faultsBody,
      body: faultsBody,
      handle({ body }) {
        faults.set(body.faults)
        return all()
      },
    }),
    'DELETE /faults': route('Remove all faults', {
      response: faultsBody,
      handle() {
        faults.clear()
        return all()
      },
    }),
  }
}

function stateRoutes(state: State) {
  return {
    'POST /reset': route('Back to the state right after the start', {
      response: json,
      handle() {
        state.reset()
        return { reset: true }
      },
    }),
    'GET /snapshot': route('The whole state as JSON, secrets included', {
      response: json,
      handle: () => state.snapshot(),
    }),
    'PUT /snapshot': route('Replace the whole state by a snapshot', {
      body: json,
      maxBytes: 512 * 1_048_576,
      response: json,
      handle({ body }) {
        state.restore(body)
        return { restored: true }
      },
    }),
    'GET /outbox': route('The mail that the service would send', {
      response: list(json),
      handle: () => ({ data: state.outbox.list() }),
    }),
    'GET /assumptions': route(
      'What the service’s document does not show, and how the sandbox reads it',
      {
        response: json,
        handle: () => ({ data: assumptions, magicNames, magicKeys, subscriptionFilters }),
      },
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
  return {
    'GET /organizations': route('List the organizations with their plans', {
      response: list(json),
      handle: () => ({ data: organizations.list() }),
    }),
    'PATCH /organizations/{id}': route('Change an organization’s plan, payment or rate', {
      params: id,
      body: organizationPatch,
      response: json,
      handle: ({ params, body }) => saved(organizations.update(params.id, body), 'Organization'),
    }),
    'GET /api-keys': route('List API keys, masked', {
      response: list(keySchema),
      handle: () => ({ data: organizations.keys() }),
    }),
    'POST /api-keys': route('Generate an API key; it is shown only once', {
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
    'POST /api-keys/{id}/rotate': route('Replace an API key; the new one is shown only once', {
      params: id,
      response: keySchema,
      handle: ({ params }) => saved(organizations.rotate(params.id, clock.now()), 'Active API key'),
    }),
    'DELETE /api-keys/{id}': route('Revoke an API key', {
      params: id,
      response: keySchema,
      handle: ({ params }) => saved(organizations.revoke(params.id), 'API key'),
    }),
  }
}
