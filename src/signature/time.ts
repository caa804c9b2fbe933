// The signed time: how a scheme writes it, and whether it lies within the tolerance.
import type { Scheme } from '../protocol/scheme-definition.ts'

// One spelling for each moment: `parseInt` would take `123abc`, and leading zeros would let digits
// wander between a time and what stands beside it.
const seconds = /^(?:0|[1-9]\d{0,11})$/
const milliseconds = /^(?:0|[1-9]\d{0,14})$/
const iso8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/** Tells whether a scheme signs the time at which the signature was made. */
export function statesTime({ grammar, template }: Scheme): boolean {
  if (typeof grammar === 'object' && 'jwt' in grammar) return true
  return template.some((part) => 'value' in part && part.value === 'timestamp')
}

/** A moment as a sender of the scheme writes it. */
export function writeTime({ timestamp }: Scheme, moment: Date): string {
  const format = timestamp?.format ?? 'seconds'
  if (format === 'iso8601') return moment.toISOString()
  return String(format === 'seconds' ? Math.floor(moment.getTime() / 1000) : moment.getTime())
}

/** Whole seconds since 1970; undefined when it is not written as the scheme says. */
export function readTime({ timestamp }: Scheme, text: string): number | undefined {
  const format = timestamp?.format ?? 'seconds'
  if (format === 'seconds') return seconds.test(text) ? Number(text) : undefined
  if (format === 'milliseconds') {
    return milliseconds.test(text) ? Math.floor(Number(text) / 1000) : undefined
  }
  const moment = iso8601.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(moment) ? undefined : Math.floor(moment / 1000)
}

/**
 * Compares a signed time with the tolerance, in whole seconds, as the senders' own libraries do.
 */
export function isInTolerance(scheme: Scheme, text: string | undefined, now: number): boolean {
  if (scheme.tolerance === 'none' || text === undefined) return true
  const at = readTime(scheme, text)
  return at !== undefined && Math.abs(Math.floor(now / 1000) - at) <= scheme.tolerance
}
