// The sandbox's clock, faults and deliveries as their users hold them: what is done to them by a
// call is written down as the request that does the same.

import { WebhookError } from '../errors.ts'
import { advanceBody, subscriptionBody } from '../protocol/control-schemas.ts'
import type { Fault } from '../protocol/fault-schemas.ts'
import { controlPath } from './control.ts'
import type { EngineClock, EngineDeliveries, EngineFaults } from './engine.ts'
import { fieldErrors } from './exchange.ts'
import type { Recorder } from './recorder.ts'

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

function noter(recorder: Recorder) {
  return (method: Method, path: string, body?: unknown) =>
    recorder.add({
      request: { method, path: `${controlPath}${path}`, ...(body !== undefined && { body }) },
    })
}

export function recordedClock(clock: EngineClock, recorder: Recorder): SandboxClock {
  const note = noter(recorder)
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
      const date = dateOf(value)
      note('PUT', '/clock', { now: date.toISOString() })
      await clock.set(date)
    },
    async advance(by) {
      const read = advanceBody.safeParse(by)
      if (!read.success) throw misuse('clock.advance', fieldErrors(read.error.issues))
      recorder.add({ advance: by })
      await clock.advance(by)
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

/** The clock as users move it. */
export interface SandboxClock {
  now(): Date
  readonly frozen: boolean
  /** Stands still from now on. */
  freeze(): void
  /** Goes on from where it stands. */
  unfreeze(): void
  /** Moves to a time; what falls due on the way happens in the order of time. */
  set(date: Date | string): Promise<void>
  /** Moves on; what falls due on the way happens in the order of time. */
  advance(by: { readonly seconds?: number; readonly days?: number }): Promise<void>
}

function misuse(what: string, wrong: readonly { field: string; message: string }[]): WebhookError {
  const words = wrong.map(({ field, message }) => `${field || 'it'} ${message}`)
  return new WebhookError('OPTION_INVALID', `${what}: ${words.join('; ')}`)
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

/** The deliveries as users look at them and send them again. */
export type SandboxDeliveries = Omit<EngineDeliveries, 'emit' | 'dump' | 'load' | 'close' | 'drain'>

export function recordedDeliveries(
  deliveries: EngineDeliveries,
  recorder: Recorder,
): SandboxDeliveries {
  const note = noter(recorder)
  const { subscriptions } = deliveries
  return {
    list: deliveries.list,
    get: deliveries.get,
    subscriptions: {
      list: subscriptions.list,
      get: subscriptions.get,
      create(input) {
        const read = subscriptionBody.safeParse(input)
        if (!read.success) throw misuse('subscriptions.create', fieldErrors(read.error.issues))
        note('POST', '/subscriptions', input)
        return subscriptions.create(input)
      },
      update(id, patch) {
        note('PATCH', `/subscriptions/${id}`, patch)
        return subscriptions.update(id, patch)
      },
      remove(id) {
        note('DELETE', `/subscriptions/${id}`)
        return subscriptions.remove(id)
      },
      rotateSecret(id, options) {
        note('POST', `/subscriptions/${id}/rotate`, options ?? {})
        return subscriptions.rotateSecret(id, options)
      },
    },
    resend(id) {
      note('POST', `/deliveries/${id}/resend`)
      return deliveries.resend(id)
    },
    resendAll(filter) {
      note('POST', '/resend', filter ?? {})
      return deliveries.resendAll(filter)
    },
  }
}
