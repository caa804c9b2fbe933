// A clock for tests: it stands still until it is moved.
import { checkOptionNames, invalid, shown } from '../foundation/check.ts'
import type { Clock } from '../foundation/clock.ts'

/** A duration: the sum of its parts. */
export interface Duration {
  readonly milliseconds?: number
  readonly seconds?: number
  readonly minutes?: number
  readonly hours?: number
  readonly days?: number
}

/** A clock for tests: pass its `now` wherever a clock is an option. */
export interface FakeClock {
  readonly now: Clock
  set(to: Date | string): void
  advance(by: Duration): void
}

const units: readonly (keyof Duration)[] = ['milliseconds', 'seconds', 'minutes', 'hours', 'days']

/**
 * Creates a clock that stands still. Setting or moving it to an invalid time throws too.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example const clock = fakeClock('2026-01-01T00:00:00Z')
 */
export function fakeClock(start: Date | string = '2026-01-01T00:00:00.000Z'): FakeClock {
  let at = timeOf(start)
  return {
    now: () => new Date(at),
    set: (to) => {
      at = timeOf(to)
    },
    advance: (by) => {
      checkOptionNames('advance', by, units)
      const { milliseconds = 0, seconds = 0, minutes = 0, hours = 0, days = 0 } = by
      const moved = milliseconds + 1000 * (seconds + 60 * (minutes + 60 * (hours + 24 * days)))
      at = timeOf(new Date(at + moved))
    },
  }
}

function timeOf(given: Date | string): number {
  const time = new Date(given).getTime()
  if (!Number.isNaN(time)) return time
  throw invalid(
    `the time of a clock must be a valid Date or ISO 8601, e.g. '2026-01-31T12:00:00Z', got ${shown(given)}`,
  )
}
