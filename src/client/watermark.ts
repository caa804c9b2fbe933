// Records how far earlier runs have read, so that the next run does not read everything again. The
// times are the service's; the local clock only measures ages, and no position passes it.
import { invalid, shown } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import type { Keeper } from '../options.ts'

export const streams = ['verifications', 'clients', 'deletions'] as const
export type Stream = (typeof streams)[number]

/** The position up to which a stream was read. */
export interface Position {
  /** The newest change that was found, by the service's clock. */
  readonly at: string
  /** Where the first run began: later runs do not look before it. */
  readonly since?: string
}

/** The position of earlier runs: JSON, to be stored and passed as `since`. */
export type Watermark = { readonly [Name in Stream]?: Position } & {
  /** The tenant of the records, if the run named a tenant. */
  readonly tenant?: string
}

/** Keeps the watermark of one inbox between runs, e.g. in a file or a table. */
export interface WatermarkStore {
  read(): Promise<Watermark | null | undefined> | Watermark | null | undefined
  write(watermark: Watermark): Promise<void> | void
}

/** The changes that a run reads: those at `from` or later. */
export interface Bound {
  readonly from: number
  /** The time up to which earlier runs have read. */
  readonly reached: number
  /** Where the first run began. */
  readonly since: string | undefined
  /** Earlier events of a record that changed within the bound count from here. */
  readonly floor: number
}

const hour = 60 * 60_000
/** The next run finds what changed while a run was reading, or became visible late. */
const overlap = hour
/** The longest time for which earlier events of a record are looked at again. */
const looked = 7 * 24 * hour
/** The maximum by which the service's clock may lead ours. */
const ahead = hour

/** How far back (ms) the inbox can recognise an event; older ones would be stored again. */
export async function rememberedBy(keeper: Keeper | undefined, now: Date): Promise<number> {
  const since = await keeper?.remembersSince?.()
  const known = since ? now.getTime() - since.getTime() - ahead : Number.POSITIVE_INFINITY
  const days = keeper?.capabilities?.dedupeDays
  return Math.min(days === undefined ? looked : days * 24 * hour - ahead, known)
}

/** `remembered` are milliseconds. @throws WebhookError `OPTION_INVALID` */
export function boundOf(
  since: Date | string | Watermark,
  stream: Stream,
  { now, remembered }: { readonly now: Date; readonly remembered: number },
): Bound {
  if (typeof since === 'string' || since instanceof Date) {
    const from = timeOf(since, 'since')
    if (from > now.getTime()) throw tooLate('since', 'pass a time in the past')
    return { from, floor: from, reached: from, since: new Date(from).toISOString() }
  }
  const position = positionOf(since, stream)
  const at = timeOf(position.at, `watermark.${stream}.at`)
  // Skipped records would never be read again.
  if (at > now.getTime() + ahead) {
    throw tooLate(`watermark.${stream}.at`, 'remove the watermark and pass since')
  }
  const { since: first } = position
  const least = first === undefined ? at : timeOf(first, `watermark.${stream}.since`)
  const again = Math.max(at - overlap, Math.min(least, at))
  // If the inbox may have forgotten that hour, only later changes are read.
  const from = again < now.getTime() - remembered ? at + 1 : again
  const floor = Math.min(from, Math.max(least, now.getTime() - Math.min(looked, remembered)))
  return { from, floor, reached: at, since: first }
}

function positionOf(since: unknown, stream: Stream): Position {
  if (typeof since !== 'object' || since === null) {
    throw invalid(
      `since must be a Date, ISO 8601 or the watermark of a report, got ${shown(since)}`,
    )
  }
  const position = (since as Watermark)[stream]
  if (typeof position === 'object' && position !== null) return position
  throw invalid(`the watermark has no entry for ${stream}: pass the whole one from the report`)
}

function tooLate(what: string, fix: string) {
  return invalid(`${what} must not be in the future: ${fix}, or correct the clock`)
}

/** The position after a complete run that found `newest`. */
export function nextPosition(newest: number | undefined, { reached, since }: Bound): Position {
  const at = new Date(Math.max(newest ?? reached, reached)).toISOString()
  return defined({ at, since })
}

/** A date without a time is UTC; a time of day needs its zone. */
const iso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/i

/** Milliseconds since the epoch. @throws WebhookError `OPTION_INVALID` */
export function timeOf(value: unknown, what: string): number {
  if (value instanceof Date || (typeof value === 'string' && iso.test(value))) {
    const time = new Date(value).getTime()
    if (Number.isFinite(time)) return time
  }
  throw invalid(
    `${what} must be a Date or ISO 8601 with a zone, e.g. 2026-03-01T10:00:00Z, got ${shown(value)}`,
  )
}
