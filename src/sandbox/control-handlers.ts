// What each route of the control plane does. Input is checked already; what is missing is 404.

import { assemble } from './assemble.ts'
import { deleteClient, updateClient } from './clients.ts'
import type { ControlHandlers } from './control.ts'
import { refuseFromWithin } from './deliveries/from-within.ts'
import { HttpError, invalid, notFound } from './http-error.ts'
import { magicKeys, magicNames } from './magic.ts'
import { mask } from './organizations.ts'
import type { EngineClock, EngineDeliveries, EngineFaults, EngineSubscription } from './ports.ts'
import { assumptions } from './profile.ts'
import { subscriptionFilters } from './schemas/control-schemas.ts'
import type { DeliverySummary } from './schemas/deliveries.ts'
import type { Scenario } from './schemas/scenario.ts'
import type { Snapshot } from './snapshot.ts'
import type { World } from './state.ts'
import { paginationOf } from './table.ts'
import { act, type Step } from './verifications.ts'

/** What the handlers act on. */
export interface ControlTargets {
  readonly world: World
  readonly clock: EngineClock
  readonly deliveries: EngineDeliveries
  /** Its subscriptions, checked. */
  readonly subscriptions: EngineDeliveries['subscriptions']
  readonly faults: EngineFaults
  readonly drain: () => Promise<void>
  readonly reset: () => void
  readonly snapshot: () => Snapshot
  readonly restore: (snapshot: unknown) => void
  readonly scenario: () => Scenario
}

export function controlHandlers(targets: ControlTargets): ControlHandlers {
  return {
    ...resourceHandlers(targets),
    ...subscriptionHandlers(targets),
    ...deliveryHandlers(targets),
    ...timeHandlers(targets),
    ...stateHandlers(targets),
    ...accessHandlers(targets),
  }
}

type Handlers<Name extends keyof ControlHandlers> = Pick<ControlHandlers, Name>

function resourceHandlers({
  world,
}: ControlTargets): Handlers<'act' | 'updateClient' | 'deleteClient'> {
  const clientOf = (id: string) => world.clients.get(id) ?? thrown(notFound('Client'))
  return {
    act({ params, body }) {
      const row = world.verifications.get(params.id) ?? thrown(notFound('Verification'))
      act(world, row, { steps: body.actions.map(toStep), force: body.force })
      return assemble(row)
    },
    updateClient: ({ params, body }) => updateClient(world, clientOf(params.id), body),
    deleteClient: ({ params }) => deleteClient(world, clientOf(params.id)),
  }
}

/** An action by its name alone, or with a step or a reason. */
export function toStep(action: Step['action'] | Step): Step {
  return typeof action === 'string' ? { action } : action
}

function subscriptionHandlers({
  subscriptions,
}: ControlTargets): Handlers<
  | 'listSubscriptions'
  | 'createSubscription'
  | 'getSubscription'
  | 'updateSubscription'
  | 'deleteSubscription'
  | 'rotateSecret'
> {
  const found = (one: EngineSubscription | undefined) => one ?? thrown(notFound('Subscription'))
  return {
    listSubscriptions: ({ query }) => ({
      data: subscriptions.list().map((one) => shown(one, query.reveal)),
    }),
    createSubscription: ({ body }) => subscriptions.create(body),
    getSubscription: ({ params, query }) =>
      shown(found(subscriptions.get(params.id)), query.reveal),
    updateSubscription: ({ params, body }) => shown(found(subscriptions.update(params.id, body))),
    deleteSubscription({ params }) {
      if (!subscriptions.remove(params.id)) throw notFound('Subscription')
      return { deleted: true }
    },
    rotateSecret: ({ params, body }) => found(subscriptions.rotateSecret(params.id, body)),
  }
}

/** A subscription as it is shown later on: its secret masked, unless it was asked for. */
export function shown(subscription: EngineSubscription, reveal?: string): EngineSubscription {
  if (reveal === 'true') return subscription
  return { ...subscription, secret: mask(subscription.secret) }
}

function deliveryHandlers({
  deliveries,
  drain,
}: ControlTargets): Handlers<
  'listDeliveries' | 'getDelivery' | 'resendDelivery' | 'resendDeliveries' | 'drain'
> {
  const found = <One>(one: One | undefined): One => one ?? thrown(notFound('Delivery'))
  return {
    listDeliveries: ({ query: { page, limit, ...filter } }) =>
      paged(deliveries.list(filter), { page, limit }),
    getDelivery: ({ params }) => found(deliveries.get(params.id)),
    resendDeliveries: ({ body }) => ({ resent: deliveries.resendAll(body) }),
    resendDelivery({ params }) {
      found(deliveries.get(params.id))
      const gone = new HttpError(409, 'The subscription of this delivery is gone')
      return deliveries.resend(params.id) ?? thrown(gone)
    },
    async drain() {
      await drain()
      return { drained: true }
    },
  }
}

/** Everything, unless a page was asked for. */
function paged(
  all: readonly DeliverySummary[],
  { page = 1, limit }: { readonly page?: number | undefined; readonly limit?: number | undefined },
) {
  const size = limit ?? (page > 1 ? 100 : undefined)
  if (size === undefined) return { data: all }
  const start = (page - 1) * size
  const pagination = paginationOf(all.length, { page, limit: size })
  return { data: all.slice(start, start + size), pagination }
}

function timeHandlers({
  clock,
}: ControlTargets): Handlers<'getClock' | 'setClock' | 'advanceClock'> {
  const time = () => ({ now: clock.now().toISOString(), frozen: clock.frozen })
  return {
    getClock: time,
    async setClock({ body }) {
      if (body.now !== undefined) refuseFromWithin('setting the clock')
      if (body.frozen === true) clock.freeze()
      if (body.now !== undefined) await clock.set(new Date(body.now))
      if (body.frozen === false) clock.unfreeze()
      return time()
    },
    async advanceClock({ body: { seconds, days } }) {
      refuseFromWithin('advancing the clock')
      await clock.advance({
        ...(seconds !== undefined && { seconds }),
        ...(days !== undefined && { days }),
      })
      return time()
    },
  }
}

function stateHandlers({
  world,
  faults,
  reset,
  snapshot,
  scenario,
  restore,
}: ControlTargets): Handlers<
  | 'getFaults'
  | 'setFaults'
  | 'clearFaults'
  | 'reset'
  | 'getSnapshot'
  | 'putSnapshot'
  | 'getScenario'
  | 'getOutbox'
  | 'getAssumptions'
> {
  const faultList = () => ({ faults: faults.list() })
  return {
    getFaults: faultList,
    setFaults({ body }) {
      const wrong = faults.set(body)
      if (wrong.length > 0) throw invalid(wrong)
      return faultList()
    },
    clearFaults() {
      faults.clear()
      return faultList()
    },
    reset() {
      reset()
      return { reset: true }
    },
    getSnapshot: snapshot,
    putSnapshot({ body }) {
      restore(body)
      return { restored: true }
    },
    getScenario: () => refusedWhenTruncated(scenario),
    getOutbox: () => ({ data: world.outbox.list() }),
    getAssumptions: () => ({ data: assumptions, magicNames, magicKeys, subscriptionFilters }),
  }
}

function accessHandlers({
  world,
}: ControlTargets): Handlers<
  'listOrganizations' | 'updateOrganization' | 'listKeys' | 'createKey' | 'rotateKey' | 'revokeKey'
> {
  const { organizations, clock } = world
  const saved = <Value>(value: Value | undefined, what: string): Value => {
    if (value === undefined) throw notFound(what)
    world.saveOrganizations()
    return value
  }
  return {
    listOrganizations: () => ({ data: organizations.list() }),
    updateOrganization: ({ params, body }) =>
      saved(organizations.update(params.id, body), 'Organization'),
    listKeys: () => ({ data: organizations.keys() }),
    createKey({ body }) {
      const { organizationId } = body
      if (!organizations.get(organizationId)) {
        throw invalid([{ field: 'organizationId', message: 'names no organization' }])
      }
      return saved(organizations.generate(organizationId, clock.now()), 'API key')
    },
    rotateKey: ({ params }) =>
      saved(organizations.rotate(params.id, clock.now()), 'Active API key'),
    revokeKey: ({ params }) => saved(organizations.revoke(params.id), 'API key'),
  }
}

function refusedWhenTruncated(scenario: () => Scenario): Scenario {
  try {
    return scenario()
  } catch (error) {
    throw new HttpError(409, error instanceof Error ? error.message : 'there is no scenario')
  }
}

function thrown(error: Error): never {
  throw error
}
