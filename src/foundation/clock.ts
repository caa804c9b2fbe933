// The one place that reads the time; everything else is handed a `now`.

import { unawaited } from './unawaited.ts'

/** Tells the time. */
export type Clock = () => Date

/** Milliseconds of a clock of the user's; an async one throws, and its rejection is heard. */
export function millisecondsOf(now: Clock): number {
  const at = now()
  unawaited(at)
  return at.getTime()
}

export const systemClock: Clock = () => new Date()

/** The time as no correction of the system's clock can move it while the process lives. */
export const steadyClock: Clock = () => new Date(performance.timeOrigin + performance.now())

/** Milliseconds by which the clocks may differ before the system's was set back. */
const step = 1_000

/**
 * A clock for ages: it never goes back, whatever corrects the system's clock, and counts the time in
 * which the machine slept, which the steady clock may miss.
 */
export function createAgeClock(): Clock {
  let slept = 0
  let highest = Date.now() - steadyClock().getTime()
  return () => {
    const steady = steadyClock().getTime()
    const ahead = Date.now() - steady
    if (ahead < highest - step) highest = ahead
    slept += Math.max(0, ahead - highest)
    highest = Math.max(highest, ahead)
    return new Date(steady + slept)
  }
}

/** Milliseconds since it was made; a `now` that is set back makes nothing last longer. */
export function stopwatch(now: Clock): () => number {
  const start = now().getTime()
  const began = performance.now()
  return () => Math.max(now().getTime() - start, performance.now() - began)
}
