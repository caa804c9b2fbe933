// Whether legacy names have been silent for long enough: what was seen of them, and the verdict.
// A day counts only where events came in it: a gap may be silence, or nobody listening.
import { canonicalName } from '../../protocol/index.ts'
import { day as dayLength } from '../moment.ts'

/** The arrivals of one legacy name, signed with one secret: each subscription has its own. */
export interface LegacyArrivals {
  readonly receivedName: string
  readonly name: string
  readonly secretId?: string
  readonly arrivals: number
  readonly lastSeen: Date
}

/** What one source has seen. */
export interface Evidence {
  readonly source: 'inbox' | 'log'
  /** From when to when it would have seen an arrival; missing when it saw none at all. */
  readonly watched?: { readonly since: Date; readonly until: Date }
  readonly arrivals: number
  readonly legacy: readonly LegacyArrivals[]
  /** The days (UTC) in which anything came, as `2026-03-01`. */
  readonly days: ReadonlySet<string>
  /** Lines that were of outcomes and could not be read: any of them may have borne a legacy name. */
  readonly unread: number
}

/** What follows from all the evidence. */
export interface Verdict {
  readonly safe: boolean
  /** Days since the last legacy name in which events came. */
  readonly silentDays: number
  readonly lastSeen?: Date
  readonly unread: number
}

/** Counts what a source tells, one arrival after the other, in any order. */
export class Tally {
  readonly #legacy = new Map<string, LegacyArrivals>()
  readonly #days = new Set<string>()
  arrivals = 0
  unread = 0
  oldest: Date | undefined
  newest: Date | undefined

  add(at: Date, receivedName: string | undefined, secretId: string | undefined): void {
    this.arrivals += 1
    this.#days.add(dayOf(at))
    if (!this.oldest || at < this.oldest) this.oldest = at
    if (!this.newest || at > this.newest) this.newest = at
    if (receivedName === undefined || !isLegacy(receivedName)) return
    const key = JSON.stringify([receivedName, secretId])
    const before = this.#legacy.get(key)
    const seen = before && before.lastSeen > at ? before.lastSeen : at
    this.#legacy.set(key, {
      receivedName,
      name: canonicalName(receivedName),
      ...(secretId !== undefined && { secretId }),
      arrivals: (before?.arrivals ?? 0) + 1,
      lastSeen: seen,
    })
  }

  /** What was seen; `bounds` widen what the arrivals themselves show of the time watched. */
  evidence(source: Evidence['source'], now: Date, since?: Date): Evidence {
    const { arrivals, unread, oldest, newest } = this
    const days = this.#days
    const legacy = [...this.#legacy.values()].sort((one, other) => +other.lastSeen - +one.lastSeen)
    if (!oldest || !newest) return { source, arrivals, legacy, days, unread }
    // Who saw something in the last day is listening still.
    const until = now.getTime() - newest.getTime() < dayLength ? now : newest
    const watched = { since: since && since < oldest ? since : oldest, until }
    return { source, watched, arrivals, legacy, days, unread }
  }
}

/** Whether a name is one of the legacy ones. */
export function isLegacy(receivedName: string): boolean {
  return canonicalName(receivedName) !== receivedName
}

/** Judges the evidence of all sources together. */
export function judge(evidence: readonly Evidence[], wanted: number): Verdict {
  const seen = evidence.flatMap(({ legacy }) => legacy.map(({ lastSeen }) => lastSeen.getTime()))
  const lastSeen = seen.length > 0 ? new Date(Math.max(...seen)) : undefined
  const days = new Set(evidence.flatMap((one) => [...one.days]))
  const silentDays = [...days].filter((one) => !lastSeen || one > dayOf(lastSeen)).length
  const unread = evidence.reduce((all, one) => all + one.unread, 0)
  const safe = silentDays >= wanted && unread === 0
  return { safe, silentDays, unread, ...(lastSeen && { lastSeen }) }
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}
