// A clock that stands still until it is told to move.
import type { Clock } from '../clock.ts'

/** How far a clock moves; the parts add up. */
export interface Duration {
  readonly milliseconds?: number
  readonly seconds?: number
  readonly minutes?: number
  readonly hours?: number
  readonly days?: number
}

/** A clock for tests: hand its `now` to whatever tells the time. */
export interface FakeClock {
  readonly now: Clock
  set(to: Date | string): void
  advance(by: Duration): void
}

/** @example const clock = fakeClock('2026-01-01T00:00:00Z') */
export function fakeClock(start: Date | string = '2026-01-01T00:00:00.000Z'): FakeClock {
  let at = new Date(start).getTime()
  return {
    now: () => new Date(at),
    set: (to) => {
      at = new Date(to).getTime()
    },
    advance: ({ milliseconds = 0, seconds = 0, minutes = 0, hours = 0, days = 0 }) => {
      at += milliseconds + 1000 * (seconds + 60 * (minutes + 60 * (hours + 24 * days)))
    },
  }
}
