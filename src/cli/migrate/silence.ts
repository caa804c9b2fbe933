// Whether legacy names have been silent for long enough: what was seen of them, and the verdict.
// Silence counts only as long as somebody listened, so each source tells from when to when it did.
import { canonicalName } from '../../protocol/index.ts'
import { day } from '../moment.ts'

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
}

/** What follows from all the evidence. */
export interface Verdict {
  readonly safe: boolean
  /** Whole days in which events came, and none under a legacy name. */
  readonly silentDays: number
  readonly lastSeen?: Date
}

/** Counts what a source tells, one arrival after the other, in any order. */
export class Tally {
  readonly #legacy = new Map<string, LegacyArrivals>()
  arrivals = 0
  oldest: Date | undefined
  newest: Date | undefined

  add(at: Date, receivedName: string | undefined, secretId: string | undefined): void {
    this.arrivals += 1
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
    const { arrivals, oldest, newest } = this
    const legacy = [...this.#legacy.values()].sort((one, other) => +other.lastSeen - +one.lastSeen)
    if (!oldest || !newest) return { source, arrivals, legacy }
    // Who saw something in the last day is listening still.
    const until = now.getTime() - newest.getTime() < day ? now : newest
    const watched = { since: since && since < oldest ? since : oldest, until }
    return { source, watched, arrivals, legacy }
  }
}

/** Whether a name is one of the legacy ones. */
export function isLegacy(receivedName: string): boolean {
  return canonicalName(receivedName) !== receivedName
}

/** Judges the evidence of all sources together. */
export function judge(evidence: readonly Evidence[], days: number): Verdict {
  const watched = evidence.flatMap((one) => (one.watched ? [one.watched] : []))
  const seen = evidence.flatMap(({ legacy }) => legacy.map(({ lastSeen }) => lastSeen.getTime()))
  const lastSeen = seen.length > 0 ? new Date(Math.max(...seen)) : undefined
  if (watched.length === 0) return { safe: false, silentDays: 0 }
  const since = Math.min(...watched.map((one) => one.since.getTime()))
  const until = Math.max(...watched.map((one) => one.until.getTime()))
  const silent = until - (lastSeen?.getTime() ?? since)
  const silentDays = Math.max(0, Math.floor(silent / day))
  return { safe: silentDays >= days, silentDays, ...(lastSeen && { lastSeen }) }
}
