// Reads a moment that a caller gives. A time without its zone is refused: it would be another
// moment on another machine.
import { WebhookError } from '../errors.ts'

/** A date alone is UTC; a time of day needs its zone. */
const iso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/i

/**
 * Milliseconds since the epoch.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function timeOf(value: unknown, what: string): number {
  if (value instanceof Date || (typeof value === 'string' && iso.test(value))) {
    const time = new Date(value).getTime()
    if (Number.isFinite(time)) return time
  }
  throw new WebhookError(
    'OPTION_INVALID',
    `${what} is no time: give a Date, or ISO 8601 with its zone such as 2026-03-01T10:00:00Z`,
  )
}
