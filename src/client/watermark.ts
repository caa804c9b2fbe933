// How far earlier runs have come, so that the next one need not read everything again. The times
// are the service's; our clock only measures how long ago something was.
import { WebhookError } from '../errors.ts'
import { timeOf } from './read-time.ts'

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

/** Keeps the watermark of one inbox between runs: in a file, a table, wherever. */
export interface WatermarkStore {
  read(): Promise<Watermark | null | undefined> | Watermark | null | undefined
  write(watermark: Watermark): Promise<void> | void
}

/** The changes that a run looks at: those after `from`, or at it where it is `included`. */
export interface Bound {
  readonly from: number
  readonly included: boolean
  /** Of a record that changed within the bound, earlier events count from here. */
  readonly floor: number
}

const hour = 60 * 60_000
/** What changed while a run was reading, or became visible late, is found by the next one. */
const overlap = hour
/** A run that begins so long after a mark was found sees all that came before it. */
const visible = 5 * 60_000
/** Beyond it the inbox may have forgotten what came before the mark, and would take it again. */
const remembered = 7 * 24 * hour
/** So much may the service's clock lead ours; a change beyond it moves no mark. */
export const ahead = hour

/**
 * The bound of a stream.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function boundOf(since: Date | string | Watermark, stream: Stream, now: Date): Bound {
  if (typeof since === 'string' || since instanceof Date) {
    const from = timeOf(since, 'since')
    if (from > now.getTime()) throw tooLate('since', 'give a time that has been')
    return { from, included: true, floor: from }
  }
  const mark = markOf(since, stream)
  const at = timeOf(mark.at, `watermark.${stream}.at`)
  // What it passed over would never be looked at again.
  if (at > now.getTime() + ahead) {
    throw tooLate(`watermark.${stream}.at`, 'remove the watermark and give since')
  }
  const age = now.getTime() - timeOf(mark.seen, `watermark.${stream}.seen`)
  const least = mark.since === undefined ? at : timeOf(mark.since, `watermark.${stream}.since`)
  const exact = mark.confirmed || age > remembered
  const from = exact ? at : Math.max(at - overlap, Math.min(least, at))
  const floor = Math.min(from, Math.max(least, now.getTime() - remembered))
  return { from, included: !exact, floor }
}

function markOf(since: unknown, stream: Stream): Mark {
  if (typeof since !== 'object' || since === null) {
    throw new WebhookError(
      'OPTION_INVALID',
      `since is ${String(since)}: give a Date, ISO 8601 or the watermark of a report`,
    )
  }
  const mark = (since as Watermark)[stream]
  if (typeof mark === 'object' && mark !== null) return mark
  throw new WebhookError(
    'OPTION_INVALID',
    `the watermark has no mark for ${stream}: give the whole one that a report has`,
  )
}

function tooLate(what: string, fix: string): WebhookError {
  return new WebhookError(
    'OPTION_INVALID',
    `${what} lies in the future: ${fix}, or correct the clock`,
  )
}

/** Whether a change lies within a bound. */
export function isWithin({ from, included }: Bound, changedAt: string): boolean {
  const at = Date.parse(changedAt)
  return included ? at >= from : at > from
}

/** Whether a change counts because its record changed within the bound. */
export function isAbove({ from, floor }: Bound, changedAt: string): boolean {
  return floor < from && Date.parse(changedAt) >= floor
}

/** The mark after a whole run that began at `now` and found `newest`. */
export function nextMark(
  newest: number | undefined,
  run: {
    readonly bound: Bound
    readonly before: Mark | undefined
    readonly now: Date
    readonly until: number
  },
): Mark {
  const { bound, before, now, until } = run
  const reached = before ? Date.parse(before.at) : bound.from
  if (before && (newest === undefined || newest <= reached)) {
    const again = now.getTime() - Date.parse(before.seen) >= visible && until >= reached
    return { ...before, ...((before.confirmed || again) && { confirmed: true }) }
  }
  const at = new Date(Math.max(newest ?? reached, reached)).toISOString()
  const since = before ? before.since : new Date(bound.from).toISOString()
  return { at, seen: now.toISOString(), ...(since !== undefined && { since }) }
}
