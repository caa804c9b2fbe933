// Puts the engine together: the clock, the generator, the faults and the deliveries that share them.
import { systemClock } from '../clock.ts'
import { createSandboxClock } from './clock.ts'
import { createDeliveries } from './deliveries/deliveries.ts'
import { createFaults } from './faults.ts'
import type { Engine, EngineOptions } from './ports.ts'
import { profile } from './profile.ts'
import { createRandom } from './random.ts'

/** A date stands still, a function runs, and without either it is the system's time. */
export function createEngine(options: EngineOptions): Engine {
  const { seed, now, fetch: send, timeoutMs = profile.delivery.timeoutMs, onChange } = options
  const running = typeof now === 'function' ? now : systemClock
  const frozenAt = now === undefined || typeof now === 'function' ? undefined : new Date(now)
  const clock = createSandboxClock({ source: running, frozenAt })
  const random = createRandom(seed)
  const faults = createFaults(random)
  const deliveries = createDeliveries({ clock, random, faults, send, timeoutMs, onChange })
  return { clock, random, faults, deliveries }
}
