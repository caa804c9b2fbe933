// How far earlier runs have come, so that the next one need not read everything again. The times
// are the service's; our clock only measures how long ago something was.
import { WebhookError } from '../errors.ts'

/** What is read one after the other, each with a mark of its own. */
export const streams = ['verifications', 'clients', 'deletions'] as const
export type Stream = (typeof streams)[number]

/** The newest change that was found in a stream. */
export interface Mark {
  /** By the service's clock. */
  readonly at: string
  /** By ours: since when it has been the newest. */
  readonly seen: string
  /** A later run has looked at the time before it again. */
  readonly confirmed?: boolean
  /** Where the first run began: no later one looks before it. */
  readonly since?: string
}

/** How far runs have come: JSON, to be kept and given as `since`. */
export type Watermark = { readonly [Name in Stream]?: Mark }

/** Keeps a watermark between runs: in a file, a table, wherever. */
export interface WatermarkStore {
  read(): Promise<Watermark | undefined> | Watermark | undefined
  write(watermark: Watermark): Promise<void> | void
}

/** The changes that a run looks at: those after `from`, or at it where it is `included`. */
export interface Bound {
  readonly from: number
  readonly included: boolean
}

const hour = 60 * 60_000
/** What changed while a run was reading, or became visible late, is found by the next one. */
const overlap = hour
/** A run that begins so long after a mark was found sees all that came before it. */
const visible = 5 * 60_000
/** Beyond it the inbox may have forgotten what came before the mark, and would take it again. */
const remembered = 7 * 24 * hour

/**
 * The bound of a stream.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function boundOf(since: Date | string | Watermark, stream: Stream, now: Date): Bound {
  if (typeof since === 'string' || since instanceof Date) {
    return { from: timeOf(since, 'since'), included: true }
  }
  const mark = since[stream]
  if (!mark) {
    throw new WebhookError(
      'OPTION_INVALID',
      `the watermark has no mark for ${stream}: give the whole one that a report has`,
    )
  }
  const at = timeOf(mark.at, `watermark.${stream}.at`)
  const age = now.getTime() - timeOf(mark.seen, `watermark.${stream}.seen`)
  if (mark.confirmed || age > remembered) return { from: at, included: false }
  const least = mark.since === undefined ? -Infinity : timeOf(mark.since, `${stream}.since`)
  return { from: Math.max(at - overlap, Math.min(least, at)), included: true }
}

/** Whether a change lies within a bound. */
export function isWithin({ from, included }: Bound, changedAt: string): boolean {
  const at = Date.parse(changedAt)
  return included ? at >= from : at > from
}

/** The mark after a whole run that began at `now` and found `newest`. */
export function nextMark(
  newest: number | undefined,
  run: { readonly bound: Bound; readonly before: Mark | undefined; readonly now: Date },
): Mark {
  const { bound, before, now } = run
  const reached = before ? Date.parse(before.at) : bound.from
  if (before && (newest === undefined || newest <= reached)) {
    const again = now.getTime() - Date.parse(before.seen) >= visible
    return { ...before, ...((before.confirmed || again) && { confirmed: true }) }
  }
  const at = new Date(Math.max(newest ?? reached, reached)).toISOString()
  const since = before ? before.since : new Date(bound.from).toISOString()
  return { at, seen: now.toISOString(), ...(since !== undefined && { since }) }
}

/** @throws WebhookError `OPTION_INVALID` */
export function timeOf(value: Date | string, what: string): number {
  const time = new Date(value).getTime()
  if (Number.isFinite(time)) return time
  throw new WebhookError('OPTION_INVALID', `${what} is no time: give a Date or ISO 8601`)
}
