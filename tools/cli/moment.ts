// Points in time and durations, as people write and read them.
import { InvalidArgumentError } from 'commander'
import type { Clock } from '../../src/index.ts'

const minute = 60_000
const day = 24 * 60 * minute
const units: Readonly<Record<string, number>> = { m: minute, h: 60 * minute, d: day }

/** A date is UTC; a time of day needs its zone, or each machine would read another time. */
const iso = /^\d{4}-\d\d(-\d\d)?$|^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i

/** Reads an option that is a point in time: ISO 8601, or how long ago (30m, 12h, 7d). */
export function momentFrom(now: Clock) {
  return (text: string): Date => {
    const [, many, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? []
    const moment = many
      ? new Date(now().getTime() - Number(many) * (units[unit] ?? 0))
      : new Date(text)
    if ((many || iso.test(text)) && !Number.isNaN(moment.getTime())) return moment
    throw new InvalidArgumentError(
      'Pass a time such as 2026-03-01T10:00:00Z, or an age such as 12h or 7d.',
    )
  }
}

/** Reads an option that is a duration, in milliseconds: 500ms, 60s, 15m, 2h, 7d. */
export function durationFrom(text: string): number {
  const [, many, unit = ''] = /^(\d+)(ms|[smhd])$/.exec(text) ?? []
  const duration = Number(many) * (unit === 'ms' ? 1 : unit === 's' ? 1000 : (units[unit] ?? 0))
  if (many !== undefined && duration > 0 && duration <= 2_147_483_647) return duration
  throw new InvalidArgumentError('Pass a duration such as 500ms, 60s, 15m or 2h, up to 24d.')
}

/** A duration in its largest unit: "3 days", "40 s". */
export function spanOf(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  if (seconds < 120) return `${seconds} s`
  if (milliseconds < 2 * 60 * minute) return `${Math.floor(seconds / 60)} min`
  if (milliseconds < 2 * day) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(milliseconds / day)} days`
}

/** A point in time for people: to the second, in UTC. */
export function stamp(moment: Date): string {
  return moment.toISOString().replace(/\.\d+Z$/, 'Z')
}
