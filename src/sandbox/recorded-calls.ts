// The sandbox's clock, faults and deliveries as their users hold them: a call is checked as the
// request that does the same, and written down as that request.

import { asMisuse, checkedArgument, misuse } from './argument-error.ts'
import { controlPath } from './control.ts'
import { refuseFromWithin } from './deliveries/from-within.ts'
import type { EngineClock, EngineDeliveries, EngineFaults } from './ports.ts'
import type { Recorder } from './recorder.ts'
import { advanceBody } from './schemas/control-schemas.ts'
import { deliveryFilter } from './schemas/deliveries.ts'
import type { Fault } from './schemas/faults.ts'

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

function noter(recorder: Recorder) {
  return (method: Method, path: string, body?: unknown) =>
    recorder.add({
      request: { method, path: `${controlPath}${path}`, ...(body !== undefined && { body }) },
    })
}

export function recordedClock(clock: EngineClock, recorder: Recorder): SandboxClock {
  const note = noter(recorder)
  const refused = (what: string) => (error: unknown) => {
    throw asMisuse(what, error)
  }
  return {
    now: () => clock.now(),
    get frozen() {
      return clock.frozen
    },
    freeze() {
      note('PUT', '/clock', { frozen: true })
      clock.freeze()
    },
    unfreeze() {
      note('PUT', '/clock', { frozen: false })
      clock.unfreeze()
    },
    async set(value) {
      refuseFromWithin('clock.set()')
      const date = dateOf(value)
      note('PUT', '/clock', { now: date.toISOString() })
      await clock.set(date).catch(refused('clock.set'))
    },
    async advance(by) {
      refuseFromWithin('clock.advance()')
      checkedArgument('clock.advance', advanceBody, by)
      recorder.add({ advance: by })
      await clock.advance(by).catch(refused('clock.advance'))
    },
  }
}

/** The faults as users set them. */
export interface SandboxFaults {
  /** Those that are set, each with how often it has struck. */
  list(): readonly Fault[]
  /**
   * Replaces all.
   *
   * @throws WebhookError `OPTION_INVALID` with every field that is wrong.
   */
  set(faults: readonly Fault[]): void
  clear(): void
}

/** The clock as users move it, between 1970 and 9000. */
export interface SandboxClock {
  now(): Date
  readonly frozen: boolean
  /** Stands still from now on. */
  freeze(): void
  /** Goes on from where it stands. */
  unfreeze(): void
  /**
   * Moves to a time; what falls due on the way happens in the order of time. A reset or a restore
   * meanwhile ends it.
   *
   * @throws WebhookError `OPTION_INVALID`, `CALLED_FROM_DELIVERY`
   */
  set(date: Date | string): Promise<void>
  /** Moves on, as `set` does. */
  advance(by: { readonly seconds?: number; readonly days?: number }): Promise<void>
}

function dateOf(value: Date | string): Date {
  const date = new Date(value)
  if (!Number.isNaN(date.getTime())) return date
  throw misuse('clock.set', [{ field: '', message: 'is no date: give a Date or ISO 8601' }])
}

export function recordedFaults(faults: EngineFaults, recorder: Recorder): SandboxFaults {
  return {
    list: () => faults.list() as readonly Fault[],
    set(wanted) {
      const wrong = faults.set(wanted)
      if (wrong.length > 0) throw misuse('faults.set', wrong)
      recorder.add({ faults: plain(faults.list() as readonly Fault[]) })
    },
    clear() {
      recorder.add({ faults: [] })
      faults.clear()
    },
  }
}

/** Without the count of what has struck already. */
function plain(faults: readonly (Fault & { readonly struck?: number })[]) {
  return faults.map(({ struck: _, ...fault }) => ({ ...fault }))
}

/**
 * The deliveries as users look at them and send them again. What is no filter and no subscription
 * throws `OPTION_INVALID`.
 */
export type SandboxDeliveries = Omit<EngineDeliveries, 'emit' | 'dump' | 'load' | 'close' | 'drain'>

export function recordedDeliveries(
  { list, get, resend, resendAll, subscriptions }: SandboxDeliveries,
  recorder: Recorder,
): SandboxDeliveries {
  const note = noter(recorder)
  const called = <Result>(what: string, call: () => Result): Result => {
    try {
      return call()
    } catch (error) {
      throw asMisuse(`subscriptions.${what}`, error)
    }
  }
  return {
    list: (filter = {}) => list(checkedArgument('deliveries.list', deliveryFilter, filter)),
    get,
    subscriptions: {
      list: subscriptions.list,
      get: subscriptions.get,
      create(input) {
        const made = called('create', () => subscriptions.create(input))
        note('POST', '/subscriptions', input)
        return made
      },
      update(id, patch) {
        const updated = called('update', () => subscriptions.update(id, patch))
        note('PATCH', `/subscriptions/${id}`, patch)
        return updated
      },
      remove(id) {
        note('DELETE', `/subscriptions/${id}`)
        return subscriptions.remove(id)
      },
      rotateSecret(id, options) {
        const rotated = called('rotateSecret', () => subscriptions.rotateSecret(id, options))
        note('POST', `/subscriptions/${id}/rotate`, options ?? {})
        return rotated
      },
    },
    resend(id) {
      note('POST', `/deliveries/${id}/resend`)
      return resend(id)
    },
    resendAll(filter = {}) {
      const wanted = checkedArgument('deliveries.resendAll', deliveryFilter, filter)
      note('POST', '/resend', wanted)
      return resendAll(wanted)
    },
  }
}
