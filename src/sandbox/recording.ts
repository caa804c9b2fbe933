// A sandbox's resets and restores, written down, and the scenario of all that was done to it.

import type { SandboxState } from './core.ts'
import type { SandboxOptions } from './options.ts'
import { createRecorder, type Recorder } from './recorder.ts'
import type { SubscriptionFilter } from './schemas/control-schemas.ts'
import type { Scenario } from './schemas/scenario.ts'
import type { Snapshot } from './snapshot.ts'

/** The state as a user resets and restores it, written down, and the scenario of it all. */
export interface Recording {
  readonly recorder: Recorder
  reset(): void
  restore(snapshot: Snapshot): void
  scenario(): Scenario
}

export function record(state: SandboxState, options: SandboxOptions): Recording {
  const recorder = createRecorder(state.clock)
  const start = state.clock.now().toISOString()
  const { seed } = state.engine.random
  const { rateLimit, secret, subscriptions } = options
  if (!state.fresh) recorder.restart(state.snapshot())
  return {
    recorder,
    reset() {
      state.reset()
      recorder.restart(state.fresh ? undefined : state.snapshot())
    },
    restore(snapshot) {
      state.restore(snapshot)
      recorder.restart(state.snapshot())
    },
    scenario() {
      const { actions, from } = recorder.actions()
      return {
        version: 1,
        seed,
        clock: { now: start },
        // The user's own secret stays with the user; a snapshot has it anyway.
        ...(secret !== undefined && !from && { secret: 'given' as const }),
        ...(rateLimit !== undefined && { rateLimit }),
        ...(subscriptions && { subscriptions: subscriptions.map(written) }),
        ...(from && { snapshot: { ...from } }),
        actions,
      }
    },
  }
}

type GivenSubscription = NonNullable<SandboxOptions['subscriptions']>[number]

/** The options were checked when the sandbox was made. */
function written({ events, ...one }: GivenSubscription) {
  return { ...one, ...(events && { events: [...events] as SubscriptionFilter[] }) }
}
