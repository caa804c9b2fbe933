// Reads a time that a caller passes. A time of day without a zone is refused: it would mean another
// moment on another machine.
import { invalid, shown } from '../foundation/check.ts'

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
  throw invalid(
    `${what} must be a Date or ISO 8601 with a zone, e.g. 2026-03-01T10:00:00Z, got ${shown(value)}`,
  )
}
