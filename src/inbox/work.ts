// The work of an inbox: claimed entries, how an attempt may end, and what became of it.

import type { VerifiedDelivery } from '../delivery.ts'
import type { Decision } from '../dispatch/finality.ts'
import type { Arrival, EntryFailure, EntryReason } from './entry.ts'
import type { Claimed, Lapsed, Lease, Settlement } from './work-store.ts'

type Encrypted = 'metadata' | 'body' | 'occurredAt'

export interface Work extends Omit<Claimed, keyof Lease | 'failed' | Encrypted> {
  readonly lease: Lease
  /** Undefined when no key opens it, or it is damaged. */
  readonly delivery?: VerifiedDelivery
  /** Its place in a body that holds several events. */
  readonly part?: number | undefined
  /** The receiver that stored it rejects its data. */
  readonly schemaRejected?: true
  /** Its content is gone or must not be used: a retry cannot open it. */
  readonly isUnrecoverable?: true
  readonly failed: readonly string[]
}

export type Verdict =
  | { readonly kind: 'done'; readonly occurrence?: Occurrence }
  | {
      readonly kind: 'failed'
      readonly reason: EntryReason
      readonly failures: readonly EntryFailure[]
      /** True if a retry cannot help. */
      readonly fatal: boolean
      /** The next attempt comes no earlier than after so many milliseconds. */
      readonly retryAfter?: number | undefined
    }
  | { readonly kind: 'skipped'; readonly reason: EntryReason }
  /** It could not be read on arrival, or reads as another event now: it moves to its lane. */
  | {
      readonly kind: 'assigned'
      readonly arrival: Arrival
      /** Other events that its body turned out to hold. */
      readonly others?: readonly Arrival[]
    }
  | {
      readonly kind: 'released'
      /** Failures that stay known although no attempt is counted. */
      readonly failures?: readonly EntryFailure[]
    }

/** The parts of an event that order it among the events of its entity. */
export interface Occurrence {
  readonly name: string
  readonly occurredAt?: Date
  /** The last decision of the entity from now on. */
  readonly decision?: Decision | undefined
}

/** The result of an attempt: `lost` if another worker holds the entry. */
export type SettledAs = Settlement['to'] | 'lost'

/** How an attempt was settled, and when the next one of a `retry` is due. */
export interface SettledWork {
  readonly state: SettledAs
  readonly dueAt?: Date
  /** The reason, if the verdict has none. */
  readonly reason?: EntryReason
}

export interface Swept extends Omit<Lapsed, 'fence' | 'owner'> {
  readonly state: 'retry' | 'dead'
  readonly dueAt?: Date
}

export interface FailedRequest {
  readonly asked: string
  readonly error: unknown
  /** When it was made, by `performance.now()`. */
  readonly began: number
}

/** An operator's change of entries through the inbox's own methods. */
export interface Operated {
  readonly asked: 'redrive' | 'replay' | 'dismiss' | 'forget'
  readonly entries: number
  readonly duration: number
  /** The entry, if the call named one. */
  readonly entryId?: string
}
