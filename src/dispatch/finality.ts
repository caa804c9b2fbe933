// Knows which decisions of a sender end a verification, and which a later one may replace. The
// service's own decisions are final; a vendor's preset declares its own.
import { defined } from '../foundation/defined.ts'
import type { DecidedBy, Superseded } from '../protocol/events.ts'
import { type DecisionName, isDecision, isFinal } from '../protocol/names.ts'
import type { DeclaredFinality } from '../protocol/vendor.ts'

/** An entry's place in the order of arrival. */
export interface EntryOrder {
  readonly entryId: string
  /** Given by the store. */
  readonly seq: number
}

/** A decision that was handled. */
export interface Replaced extends EntryOrder {
  readonly name: DecisionName
  /** Milliseconds since the epoch. */
  readonly at?: number
}

/** The last decision of a verification, and the decision that it replaced. */
export interface Decision extends Replaced {
  readonly replaced?: Replaced
}

/** The finality of the decisions of one receiver's sender. */
export class Finality {
  readonly #reversible: readonly string[]

  constructor(declared?: DeclaredFinality) {
    this.#reversible = declared?.reversible ?? []
  }

  /** True if a decision may be replaced. Otherwise nothing is remembered of decisions. */
  get canReverse(): boolean {
    return this.#reversible.length > 0
  }

  /** The last decision of a verification after this event, if it changes. */
  decided(event: Occurred, place: EntryOrder, last: Decision | undefined): Decision | undefined {
    const { name, occurredAt, decidedBy } = event
    // Hints at one decision come more than once, also where it is final.
    const isKept = this.canReverse || decidedBy === 'api'
    if (!isKept || !isDecision(name) || isOlder(event, place, last)) return undefined
    const replaced = this.replaced(event, place, last)
    return defined({ name, ...place, at: occurredAt?.getTime(), replaced })
  }

  /**
   * Tells whether an event is older than what was done of its verification. A decision that another
   * may replace is compared only with the last decision.
   */
  isStale(event: Occurred, place: EntryOrder, highWaterMark: HighWater | undefined): boolean {
    const isReversible = this.canReverse && isDecision(event.name)
    if (isReversible) return isOlder(event, place, highWaterMark?.decision)
    return isBehind(event, highWaterMark, this.canReverse)
  }

  /** The earlier decision that an event replaces, if it does; equal at every run of its entry. */
  replaced(event: Occurred, place: EntryOrder, last: Decision | undefined): Replaced | undefined {
    if (!last || !isDecision(event.name)) return undefined
    if (last.entryId === place.entryId) return last.replaced
    if (event.name === last.name || isOlder(event, place, last)) return undefined
    if (!this.#reversible.includes(last.name)) return undefined
    const { name, entryId, seq, at } = last
    return defined({ name, entryId, seq, at })
  }
}

/** The fields of an event that determine its order. */
interface Occurred {
  readonly name: string
  readonly decidedBy?: DecidedBy
  readonly occurredAt?: Date
}

/** The newest event of an entity that was done. */
interface HighWater {
  /** Milliseconds since the epoch. */
  readonly at?: number
  readonly final: boolean
  readonly decision?: Decision
}

/**
 * Tells whether a newer event of the same entity was already done. If the times do not decide, an
 * event with a terminal status (section 3) is the newer one, unless decisions can be replaced.
 */
function isBehind(
  { name, occurredAt }: Occurred,
  last: HighWater | undefined,
  canReverse: boolean,
): boolean {
  if (!last) return false
  const at = occurredAt?.getTime()
  if (at !== undefined && last.at !== undefined && at !== last.at) return at < last.at
  return !canReverse && last.final && !isFinal(name)
}

/**
 * If the times are equal, the order of arrival decides. It compares ids and numbers, because a clock
 * may have been ahead, and a new store counts from one again.
 */
function isOlder({ occurredAt }: Occurred, place: EntryOrder, last: Decision | undefined): boolean {
  if (!last) return false
  const at = occurredAt?.getTime()
  if (at !== undefined && last.at !== undefined && at !== last.at) return at < last.at
  return place.seq < last.seq && place.entryId < last.entryId
}

export function toSuperseded({ name, entryId, at }: Replaced): Superseded {
  return defined({ name, entryId, occurredAt: at === undefined ? undefined : new Date(at) })
}
