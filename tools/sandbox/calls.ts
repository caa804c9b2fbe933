// The sandbox's parts as their users hold them. A call is checked like the request that does the same:
// what the request would be rejected for throws here.
import { invalid } from '../../src/foundation/check.ts'
import type { VirtualClock } from './clock.ts'
import type { Deliveries } from './deliveries/deliveries.ts'
import type { Subscriptions } from './deliveries/subscriptions.ts'
import type { FaultRules } from './faults.ts'
import { HttpError } from './http-error.ts'

/** The clock as users move it, between 1970 and 9000. */
export type SandboxClock = Pick<
  VirtualClock,
  'now' | 'frozen' | 'freeze' | 'unfreeze' | 'set' | 'advance'
>
/** The faults as users set them. */
export type SandboxFaults = Pick<FaultRules, 'list' | 'set' | 'clear'>
/** The subscriptions as users manage them. Invalid input throws `OPTION_INVALID`. */
export type SandboxSubscriptions = Pick<
  Subscriptions,
  'list' | 'get' | 'create' | 'update' | 'remove' | 'rotateSecret'
>
/** The deliveries as users list them and send them again. An invalid filter throws `OPTION_INVALID`. */
export interface SandboxDeliveries
  extends Pick<Deliveries, 'list' | 'get' | 'resend' | 'resendAll'> {
  readonly subscriptions: SandboxSubscriptions
}

export function clockCalls(clock: VirtualClock): SandboxClock {
  return {
    get frozen() {
      return clock.frozen
    },
    now: () => clock.now(),
    freeze: () => clock.freeze(),
    unfreeze: () => clock.unfreeze(),
    set: (date) => clock.set(date).catch(reject('clock.set')),
    advance: (by) => clock.advance(by).catch(reject('clock.advance')),
  }
}

export function faultCalls(faults: FaultRules): SandboxFaults {
  return {
    list: () => faults.list(),
    set: (wanted) => called('faults.set', () => faults.set(wanted)),
    clear: () => faults.clear(),
  }
}

export function deliveryCalls(deliveries: Deliveries): SandboxDeliveries {
  const { subscriptions } = deliveries
  return {
    list: (filter) => called('deliveries.list', () => deliveries.list(filter)),
    get: (id) => deliveries.get(id),
    resend: (id) => deliveries.resend(id),
    resendAll: (filter) => called('deliveries.resendAll', () => deliveries.resendAll(filter)),
    subscriptions: {
      list: () => subscriptions.list(),
      get: (id) => subscriptions.get(id),
      create: (input) => called('subscriptions.create', () => subscriptions.create(input)),
      update: (id, patch) => called('subscriptions.update', () => subscriptions.update(id, patch)),
      remove: (id) => subscriptions.remove(id),
      rotateSecret: (id, options) =>
        called('subscriptions.rotateSecret', () => subscriptions.rotateSecret(id, options)),
    },
  }
}

/**
 * Makes a call.
 *
 * @throws WebhookError `OPTION_INVALID` with every field that is wrong
 */
export function called<Result>(name: string, call: () => Result): Result {
  try {
    return call()
  } catch (error) {
    return reject(name)(error)
  }
}

const reject =
  (call: string) =>
  (error: unknown): never => {
    if (!(error instanceof HttpError)) throw error
    const wrong = error.body.errors ?? [{ field: '', message: error.message }]
    const words = wrong.map(({ field, message }) => `${field || 'the argument'} ${message}`)
    throw invalid(`${call}: ${words.join('; ')}`)
  }
