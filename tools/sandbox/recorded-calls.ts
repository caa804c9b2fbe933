// The sandbox's clock, faults and deliveries as their users hold them: a call is checked like the
// request that does the same, and recorded as that request.

import { argumentError, asArgumentError, checkedArgument } from './argument-error.ts'
import type { VirtualClock } from './clock.ts'
import type { Deliveries } from './deliveries/deliveries.ts'
import { refuseFromWithin } from './deliveries/from-within.ts'
import type { Subscriptions } from './deliveries/subscriptions.ts'
import type { FaultRules } from './faults.ts'
import type { Recorder } from './recorder.ts'
import { advanceBody } from './schemas/control-schemas.ts'
import { deliveryFilter } from './schemas/deliveries.ts'
import type { Fault } from './schemas/faults.ts'

/** The clock as users move it, between 1970 and 9000. */
export interface SandboxClock {
  now(): Date
  readonly frozen: boolean
  /** Makes it stand still. */
  freeze(): void
  /** Makes it run on from where it stands. */
  unfreeze(): void
  /**
   * Moves to a time; what falls due on the way happens in the order of time. A reset or a restore
   * in the meantime ends the move.
   *
   * @throws WebhookError `OPTION_INVALID`, `CALLED_FROM_DELIVERY`
   */
  set(date: Date | string): Promise<void>
  /** Moves on, as `set` does. */
  advance(by: { readonly seconds?: number; readonly days?: number }): Promise<void>
}

export function recordedClock(clock: VirtualClock, recorder: Recorder): SandboxClock {
  const rejected = (call: string) => (error: unknown) => {
    throw asArgumentError(call, error)
  }
  return {
    now: () => clock.now(),
    get frozen() {
      return clock.frozen
    },
    freeze() {
      recorder.call('PUT', '/clock', { frozen: true })
      clock.freeze()
    },
    unfreeze() {
      recorder.call('PUT', '/clock', { frozen: false })
      clock.unfreeze()
    },
    async set(value) {
      refuseFromWithin('clock.set()')
      const date = dateOf(value)
      recorder.call('PUT', '/clock', { now: date.toISOString() })
      await clock.set(date).catch(rejected('clock.set'))
    },
    async advance(by) {
      refuseFromWithin('clock.advance()')
      checkedArgument('clock.advance', advanceBody, by)
      recorder.add({ advance: by })
      await clock.advance(by).catch(rejected('clock.advance'))
    },
  }
}

function dateOf(value: Date | string): Date {
  const date = new Date(value)
  if (!Number.isNaN(date.getTime())) return date
  throw argumentError('clock.set', [{ field: '', message: 'must be a Date or an ISO 8601 string' }])
}

/** The faults as users set them. */
export interface SandboxFaults {
  /** Those that are set, each with how often it has struck. */
  list(): readonly Fault[]
  /**
   * Replaces all.
   *
   * @throws WebhookError `OPTION_INVALID` with every field that is wrong
   */
  set(faults: readonly Fault[]): void
  clear(): void
}

export function recordedFaults(faults: FaultRules, recorder: Recorder): SandboxFaults {
  return {
    list: () => faults.list(),
    set(wanted) {
      const wrong = faults.set(wanted)
      if (wrong.length > 0) throw argumentError('faults.set', wrong)
      recorder.add({ faults: faults.list().map(({ struck: _, ...fault }) => fault) })
    },
    clear() {
      recorder.add({ faults: [] })
      faults.clear()
    },
  }
}

/** The subscriptions as users manage them. What a request would refuse throws `OPTION_INVALID`. */
export type SandboxSubscriptions = Pick<
  Subscriptions,
  'list' | 'get' | 'create' | 'update' | 'remove' | 'rotateSecret'
>

/** The deliveries as users look at them and send them again; a wrong filter throws `OPTION_INVALID`. */
export interface SandboxDeliveries
  extends Pick<Deliveries, 'list' | 'get' | 'resend' | 'resendAll'> {
  readonly subscriptions: SandboxSubscriptions
}

export function recordedDeliveries(deliveries: Deliveries, recorder: Recorder): SandboxDeliveries {
  return {
    subscriptions: recordedSubscriptions(deliveries.subscriptions, recorder),
    list: (filter = {}) =>
      deliveries.list(checkedArgument('deliveries.list', deliveryFilter, filter)),
    get: (id) => deliveries.get(id),
    resend(id) {
      recorder.call('POST', `/deliveries/${id}/resend`)
      return deliveries.resend(id)
    },
    resendAll(filter = {}) {
      const wanted = checkedArgument('deliveries.resendAll', deliveryFilter, filter)
      recorder.call('POST', '/resend', wanted)
      return deliveries.resendAll(wanted)
    },
  }
}

function recordedSubscriptions(
  subscriptions: Subscriptions,
  recorder: Recorder,
): SandboxSubscriptions {
  const called = <Result>(name: string, call: () => Result): Result => {
    try {
      return call()
    } catch (error) {
      throw asArgumentError(`subscriptions.${name}`, error)
    }
  }
  return {
    list: () => subscriptions.list(),
    get: (id) => subscriptions.get(id),
    create(input) {
      const created = called('create', () => subscriptions.create(input))
      recorder.call('POST', '/subscriptions', input)
      return created
    },
    update(id, patch) {
      const updated = called('update', () => subscriptions.update(id, patch))
      recorder.call('PATCH', `/subscriptions/${id}`, patch)
      return updated
    },
    remove(id) {
      recorder.call('DELETE', `/subscriptions/${id}`)
      return subscriptions.remove(id)
    },
    rotateSecret(id, options = {}) {
      const rotated = called('rotateSecret', () => subscriptions.rotateSecret(id, options))
      recorder.call('POST', `/subscriptions/${id}/rotate`, options)
      return rotated
    },
  }
}
