// The sandbox's clock, faults and deliveries as their users hold them: what is done to them by a
// call is written down as the request that does the same.

import { controlPath } from './control.ts'
import type { EngineClock, EngineDeliveries, EngineFaults } from './engine.ts'
import type { Fault } from './faults.ts'
import type { Recorder } from './recorder.ts'

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

function noter(recorder: Recorder) {
  return (method: Method, path: string, body?: unknown) =>
    recorder.add({
      request: { method, path: `${controlPath}${path}`, ...(body !== undefined && { body }) },
    })
}

export function recordedClock(clock: EngineClock, recorder: Recorder): EngineClock {
  const note = noter(recorder)
  return {
    ...clock,
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
    set(date) {
      note('PUT', '/clock', { now: date.toISOString() })
      return clock.set(date)
    },
    advance(by) {
      recorder.add({ advance: by })
      return clock.advance(by)
    },
  }
}

export function recordedFaults(faults: EngineFaults, recorder: Recorder): EngineFaults {
  return {
    ...faults,
    set(wanted) {
      const wrong = faults.set(wanted)
      if (wrong.length === 0) recorder.add({ faults: plain(faults.list() as readonly Fault[]) })
      return wrong
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

export function recordedDeliveries(
  deliveries: EngineDeliveries,
  recorder: Recorder,
): EngineDeliveries {
  const note = noter(recorder)
  const { subscriptions } = deliveries
  return {
    ...deliveries,
    subscriptions: {
      ...subscriptions,
      create(input) {
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
    drain() {
      recorder.add({ drain: true })
      return deliveries.drain()
    },
  }
}
