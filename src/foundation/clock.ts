// The only file that reads the time; other files take a `now`.
import { ignoreRejection } from '../host/promises.ts'

/** Returns the current time. */
export type Clock = () => Date

/** Milliseconds of a user's clock; throws for an async clock, whose rejection is ignored. */
export function millisecondsOf(now: Clock): number {
  const at = now()
  ignoreRejection(at)
  return at.getTime()
}

export const systemClock: Clock = () => new Date()

/** The time by the monotonic clock: no correction of the system's clock moves it. */
export const steadyClock: Clock = () => new Date(performance.timeOrigin + performance.now())

/**
 * Creates a clock for ages. It follows the system's clock forward, so it counts the time in which the
 * machine sleeps, and ignores every step back.
 */
export function createAgeClock(): Clock {
  let base = Date.now() - performance.now()
  let offset = base
  return () => {
    const steady = performance.now()
    const ahead = Date.now() - steady
    // Smaller steps back are corrections: their sum would make this clock run ahead.
    if (ahead > base || ahead < base - 1_000) {
      offset += Math.max(0, ahead - base)
      base = ahead
    }
    return new Date(steady + offset)
  }
}

/** Measures the milliseconds since its creation, also if `now` is set back. */
export function stopwatch(now: Clock): () => number {
  const start = now().getTime()
  const began = performance.now()
  return () => Math.max(now().getTime() - start, performance.now() - began)
}

/** `Retry-After` in milliseconds: seconds, or a date, measured by the service's own `Date`. */
export function readRetryAfter(headers: Headers, now: Date): number | undefined {
  const text = headers.get('retry-after')?.trim()
  if (!text) return undefined
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000)
  const until = Date.parse(text)
  if (Number.isNaN(until)) return undefined
  const sent = Date.parse(headers.get('date') ?? '')
  return Math.max(0, until - (Number.isNaN(sent) ? now.getTime() : sent))
}
