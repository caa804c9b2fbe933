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

/** Milliseconds of running after which a clock that went far ahead is believed. */
const patience = 600_000

/**
 * A clock for ages: it never goes back, whatever corrects the system's clock, and counts the time in
 * which the machine slept, which the steady clock may miss. A sleep and a clock that was set ahead
 * look alike: more than `atOnce` milliseconds count once they have stood for ten minutes of running.
 */
export function createAgeClock(atOnce = Number.POSITIVE_INFINITY): Clock {
  let highest = Date.now() - steadyClock().getTime()
  // It begins with the system's time, as the clock of a new process does.
  let slept = highest
  let doubted = { since: 0, gain: 0 }
  return () => {
    const steady = steadyClock().getTime()
    const ahead = Date.now() - steady
    if (ahead < highest - step) {
      doubted.gain = Math.max(0, doubted.gain - (highest - ahead))
      highest = ahead
    }
    const gain = Math.max(0, ahead - highest)
    highest = Math.max(highest, ahead)
    slept += Math.min(gain, atOnce)
    if (gain > atOnce) {
      const since = doubted.gain > 0 ? doubted.since : steady
      doubted = { since, gain: doubted.gain + gain - atOnce }
    }
    if (doubted.gain > 0 && steady - doubted.since >= patience) {
      slept += doubted.gain
      doubted = { since: 0, gain: 0 }
    }
    return new Date(steady + slept)
  }
}

/** A gain of a day at once is believed: that is beyond any retry, and harms no retention. */
const believed = 24 * 60 * 60 * 1000

/** Bundles may each have a copy of this module, and share one file. */
const place = Symbol.for('idv-webhooks.clock')

/** The clock for ages that all inboxes of a process share. */
export function clockOfProcess(): Clock {
  const shared = globalThis as { [place]?: Clock }
  shared[place] ??= createAgeClock(believed)
  return shared[place]
}

/** Milliseconds since it was made; a `now` that is set back makes nothing last longer. */
export function stopwatch(now: Clock): () => number {
  const start = now().getTime()
  const began = performance.now()
  return () => Math.max(now().getTime() - start, performance.now() - began)
}
