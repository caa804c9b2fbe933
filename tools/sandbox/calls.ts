// The sandbox's clock, faults and deliveries as their users hold them. A call is checked like the
// request that does the same: what the request would refuse throws here.

import type { WebhookError } from '../../src/errors.ts'
import { invalid } from '../../src/foundation/check.ts'
import type { VirtualClock } from './clock.ts'
import { refuseFromWithin } from './deliveries/attempt.ts'
import type { Deliveries } from './deliveries/deliveries.ts'
import type { Subscriptions } from './deliveries/subscriptions.ts'
import { fieldErrors, type Schema } from './exchange.ts'
import type { FaultRules } from './faults.ts'
import { type FieldError, HttpError } from './http-error.ts'
import { advanceBody } from './schemas/control.ts'
import { deliveryFilter } from './schemas/deliveries.ts'
import type { Fault } from './schemas/faults.ts'

/** The clock as users move it, between 1970 and 9000. */
export interface SandboxClock {
  now(): Date
  readonly frozen: boolean
  /** Stops the clock. */
  freeze(): void
  /** Lets the clock run on from its present time. */
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

/** The faults as users set them. */
export interface SandboxFaults {
  /** Lists the faults, each with how often it has struck. */
  list(): readonly Fault[]
  /**
   * Replaces all.
   *
   * @throws WebhookError `OPTION_INVALID` with every field that is wrong
   */
  set(faults: readonly Fault[]): void
  clear(): void
}

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
    now: () => clock.now(),
    get frozen() {
      return clock.frozen
    },
    freeze: () => clock.freeze(),
    unfreeze: () => clock.unfreeze(),
    async set(value) {
      refuseFromWithin('clock.set()')
      const date = new Date(value)
      if (Number.isNaN(date.getTime())) {
        throw invalid('clock.set: the argument must be a Date or an ISO 8601 string')
      }
      await clock.set(date).catch(rejectCall('clock.set'))
    },
    async advance(by) {
      refuseFromWithin('clock.advance()')
      checkedArgument('clock.advance', advanceBody, by)
      await clock.advance(by).catch(rejectCall('clock.advance'))
    },
  }
}

export function faultCalls(faults: FaultRules): SandboxFaults {
  return {
    list: () => faults.list(),
    set(wanted) {
      const wrong = faults.set(wanted)
      if (wrong.length > 0) throw argumentError('faults.set', wrong)
    },
    clear: () => faults.clear(),
  }
}

export function deliveryCalls(deliveries: Deliveries): SandboxDeliveries {
  const { subscriptions } = deliveries
  const called = <Result>(name: string, call: () => Result): Result => {
    try {
      return call()
    } catch (error) {
      throw asArgumentError(`subscriptions.${name}`, error)
    }
  }
  return {
    subscriptions: {
      list: () => subscriptions.list(),
      get: (id) => subscriptions.get(id),
      create: (input) => called('create', () => subscriptions.create(input)),
      update: (id, patch) => called('update', () => subscriptions.update(id, patch)),
      remove: (id) => subscriptions.remove(id),
      rotateSecret: (id, options = {}) =>
        called('rotateSecret', () => subscriptions.rotateSecret(id, options)),
    },
    list: (filter = {}) =>
      deliveries.list(checkedArgument('deliveries.list', deliveryFilter, filter)),
    get: (id) => deliveries.get(id),
    resend: (id) => deliveries.resend(id),
    resendAll: (filter = {}) =>
      deliveries.resendAll(checkedArgument('deliveries.resendAll', deliveryFilter, filter)),
  }
}

function argumentError(call: string, wrong: readonly FieldError[]): WebhookError {
  const words = wrong.map(({ field, message }) => `${field || 'the argument'} ${message}`)
  return invalid(`${call}: ${words.join('; ')}`)
}

/** @throws WebhookError `OPTION_INVALID` with every field that is wrong */
export function checkedArgument<Output>(
  call: string,
  schema: Schema<Output>,
  value: unknown,
): Output {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  throw argumentError(call, fieldErrors(read.error.issues))
}

/** Turns the error response of a request into the error of a call; returns other errors unchanged. */
export function asArgumentError(call: string, error: unknown): unknown {
  if (!(error instanceof HttpError)) return error
  const { errors } = error.body
  return errors ? argumentError(call, errors) : invalid(`${call}: ${error.message}`)
}

const rejectCall = (call: string) => (error: unknown) => {
  throw asArgumentError(call, error)
}
