// The one place that reads the time; everything else is handed a `now`.

/** Tells the time. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/** The time as no correction of the system's clock can move it while the process lives. */
export const steadyClock: Clock = () => new Date(performance.timeOrigin + performance.now())

/**
 * A clock for ages: it never goes back, whatever corrects the system's clock, and counts the time in
 * which the machine slept, which the steady clock may miss.
 */
export function createAgeClock(): Clock {
  let lead = 0
  return () => {
    const steady = performance.timeOrigin + performance.now()
    lead = Math.max(lead, Date.now() - steady)
    return new Date(steady + lead)
  }
}

/** Milliseconds since it was made; a `now` that is set back makes nothing last longer. */
export function stopwatch(now: Clock): () => number {
  const start = now().getTime()
  const began = performance.now()
  return () => Math.max(now().getTime() - start, performance.now() - began)
}
