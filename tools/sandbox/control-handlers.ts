// Handlers of the control plane's routes. Input is checked already; a missing record is 404.

import { defined } from '../../src/foundation/defined.ts'
import { assemble } from './assemble.ts'
import { assumptions } from './assumptions.ts'
import { deleteClient, updateClient } from './clients.ts'
import type { ControlHandlers } from './control.ts'
import type { Core } from './core.ts'
import { refuseFromWithin } from './deliveries/from-within.ts'
import type { Subscription } from './deliveries/subscriptions.ts'
import { found, HttpError, invalidFields } from './http-error.ts'
import { magicKeys, magicNames } from './magic.ts'
import { mask } from './organizations.ts'
import { subscriptionFilters } from './schemas/control-schemas.ts'
import type { DeliverySummary } from './schemas/deliveries.ts'
import { pageOf } from './selections.ts'
import { act, type Step } from './verifications.ts'

export function controlHandlers(core: Core): ControlHandlers {
  return {
    ...resourceHandlers(core),
    ...subscriptionHandlers(core),
    ...deliveryHandlers(core),
    ...timeHandlers(core),
    ...faultHandlers(core),
    ...stateHandlers(core),
    ...accessHandlers(core),
  }
}

type Handlers = Partial<ControlHandlers>

function resourceHandlers({ state }: Core) {
  const clientOf = (id: string) => found(state.clients.get(id), 'Client')
  return {
    act({ params, body }) {
      const row = found(state.verifications.get(params.id), 'Verification')
      act(state, row, { steps: body.actions.map(toStep), force: body.force })
      return assemble(row)
    },
    updateClient: ({ params, body }) => updateClient(state, clientOf(params.id), body),
    deleteClient: ({ params }) => deleteClient(state, clientOf(params.id)),
  } satisfies Handlers
}

/** An action by its name alone, or with a step or a reason. */
export function toStep(action: Step['action'] | Step): Step {
  return typeof action === 'string' ? { action } : action
}

function subscriptionHandlers({ deliveries: { subscriptions } }: Core) {
  const one = (subscription: Subscription | undefined) => found(subscription, 'Subscription')
  return {
    listSubscriptions: ({ query }) => ({
      data: subscriptions.list().map((each) => shown(each, query.reveal)),
    }),
    createSubscription: ({ body }) => subscriptions.create(body),
    getSubscription: ({ params, query }) => shown(one(subscriptions.get(params.id)), query.reveal),
    updateSubscription: ({ params, body }) => shown(one(subscriptions.update(params.id, body))),
    deleteSubscription({ params }) {
      found(subscriptions.remove(params.id) || undefined, 'Subscription')
      return { deleted: true }
    },
    rotateSecret: ({ params, body }) => one(subscriptions.rotateSecret(params.id, body)),
  } satisfies Handlers
}

/** A subscription as it is shown later on: its secret masked, unless the caller asks for it. */
function shown(subscription: Subscription, reveal?: string): Subscription {
  if (reveal === 'true') return subscription
  return { ...subscription, secret: mask(subscription.secret) }
}

function deliveryHandlers(core: Core) {
  const { deliveries } = core
  return {
    listDeliveries: ({ query: { page, limit, ...filter } }) =>
      paged(deliveries.list(filter), { page, limit }),
    getDelivery: ({ params }) => found(deliveries.get(params.id), 'Delivery'),
    resendDeliveries: ({ body }) => ({ resent: deliveries.resendAll(body) }),
    resendDelivery({ params }) {
      found(deliveries.get(params.id), 'Delivery')
      const again = deliveries.resend(params.id)
      if (!again) throw new HttpError(409, 'The subscription of this delivery is gone')
      return again
    },
    async flush() {
      await core.flush()
      return { flushed: true }
    },
  } satisfies Handlers
}

/** Everything, unless a page was asked for. */
function paged(
  all: readonly DeliverySummary[],
  { page = 1, limit }: { readonly page?: number | undefined; readonly limit?: number | undefined },
) {
  const size = limit ?? (page > 1 ? 100 : undefined)
  if (size === undefined) return { data: all }
  return pageOf(all, { page, limit: size })
}

function timeHandlers({ clock }: Core) {
  const time = () => ({ now: clock.now().toISOString(), frozen: clock.frozen })
  return {
    getClock: time,
    async setClock({ body: { now, frozen } }) {
      if (now !== undefined) refuseFromWithin('setting the clock')
      if (frozen === true) clock.freeze()
      if (now !== undefined) await clock.set(new Date(now))
      if (frozen === false) clock.unfreeze()
      return time()
    },
    async advanceClock({ body }) {
      refuseFromWithin('advancing the clock')
      await clock.advance(defined(body))
      return time()
    },
  } satisfies Handlers
}

function faultHandlers({ faults }: Core) {
  const list = () => ({ faults: faults.list() })
  return {
    getFaults: list,
    setFaults({ body }) {
      const wrong = faults.set(body)
      if (wrong.length > 0) throw invalidFields(wrong)
      return list()
    },
    clearFaults() {
      faults.clear()
      return list()
    },
  } satisfies Handlers
}

function stateHandlers(core: Core) {
  return {
    reset() {
      core.reset()
      return { reset: true }
    },
    getSnapshot: () => core.snapshot(),
    putSnapshot({ body }) {
      core.restore(body)
      return { restored: true }
    },
    getOutbox: () => ({ data: core.state.outbox.list() }),
    getAssumptions: () => ({ data: assumptions, magicNames, magicKeys, subscriptionFilters }),
  } satisfies Handlers
}

function accessHandlers({ state }: Core) {
  const { organizations, clock } = state
  const saved = <Value>(value: Value | undefined, what: string): Value => {
    const kept = found(value, what)
    state.saveOrganizations()
    return kept
  }
  return {
    listOrganizations: () => ({ data: organizations.list() }),
    updateOrganization: ({ params, body }) =>
      saved(organizations.update(params.id, body), 'Organization'),
    listKeys: () => ({ data: organizations.keys() }),
    createKey({ body: { organizationId } }) {
      if (!organizations.get(organizationId)) {
        throw invalidFields([{ field: 'organizationId', message: 'names no organization' }])
      }
      return saved(organizations.generate(organizationId, clock.now()), 'API key')
    },
    rotateKey: ({ params }) =>
      saved(organizations.rotate(params.id, clock.now()), 'Active API key'),
    revokeKey: ({ params }) => saved(organizations.revoke(params.id), 'API key'),
  } satisfies Handlers
}
