// Whether the quiet period of legacy names is long enough: their arrivals, and the verdict. Only days
// with events count: on other days perhaps nothing was running.
import { canonicalName } from '../../../src/protocol/index.ts'
import { day as dayLength } from '../moment.ts'

/** The arrivals of one legacy name with one secret; each subscription has its own. */
export interface LegacyArrivals {
  readonly receivedName: string
  readonly name: string
  readonly secretId?: string
  readonly arrivals: number
  readonly lastSeen: Date
}

/** Evidence from one source. */
export interface Evidence {
  readonly source: 'inbox' | 'log'
  /** The period that it covers; missing without arrivals. */
  readonly watched?: { readonly since: Date; readonly until: Date }
  readonly arrivals: number
  readonly legacy: readonly LegacyArrivals[]
  /** The days (UTC) with arrivals, as `2026-03-01`. */
  readonly days: ReadonlySet<string>
  /** Outcomes that could not be read; each may have a legacy name. */
  readonly unread: number
}

/** The conclusion from all evidence. */
export interface Verdict {
  readonly safe: boolean
  /** Days with events since the last legacy name. */
  readonly quietDays: number
  readonly lastSeen?: Date
  readonly unread: number
}

/** Counts the arrivals of a source, in any order. */
export class ArrivalCount {
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

  /** The evidence; `since` extends the covered period beyond the first arrival. */
  evidence(source: Evidence['source'], now: Date, since?: Date): Evidence {
    const { arrivals, unread, oldest, newest } = this
    const days = this.#days
    const legacy = [...this.#legacy.values()].sort((one, other) => +other.lastSeen - +one.lastSeen)
    if (!oldest || !newest) return { source, arrivals, legacy, days, unread }
    // A source with an arrival in the last day is still running.
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
  const quietDays = [...days].filter((one) => !lastSeen || one > dayOf(lastSeen)).length
  const unread = evidence.reduce((all, one) => all + one.unread, 0)
  const safe = quietDays >= wanted && unread === 0
  return { safe, quietDays, unread, ...(lastSeen && { lastSeen }) }
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}
