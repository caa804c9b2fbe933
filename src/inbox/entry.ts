// One delivery in the inbox: the arrival that the receiver passes, the result of keeping it, and
// the states of an entry.
import type { VerifiedDelivery } from '../delivery.ts'
import type { Entity, EventSource } from '../protocol/events.ts'

/** A verified delivery with its parsed parts; bytes that could not be parsed have no name. */
export interface Arrival {
  readonly delivery: VerifiedDelivery
  readonly source: EventSource
  /** The id that identifies duplicates, from authenticated bytes only. */
  readonly key?: string
  /** Equal bodies are one event, because there is no id. */
  readonly dedupe?: 'body'
  /** The part of the body that repeats have in common; by default all of it. */
  readonly lasting?: Uint8Array
  /** Its place in a body that holds several events; each has an entry. */
  readonly part?: number
  /** The receiver that stores it rejects its data. */
  readonly schemaRejected?: true
  readonly name?: string
  readonly receivedName?: string
  readonly entity?: Entity
  /** Another resource of the event; forgetting that resource forgets this event too. */
  readonly related?: Entity
  readonly occurredAt?: Date
  /** When its resource changed last, as the event states it. */
  readonly updatedAt?: Date
  /** Identifies the occurrence: if webhook and reconcile bring it, the second is a duplicate. */
  readonly occurrence?: string
  /** It is later than the occurrence that reconcile fed. */
  readonly recurs?: true
}

export type Kept =
  | { readonly kind: 'accepted'; readonly entryId: string }
  | { readonly kind: 'duplicate'; readonly entryId: string; readonly conflict?: true }

/** The states of an entry. `stored`, `leased` and `retry` are open, the others are ends. */
export const entryStates = ['stored', 'leased', 'retry', 'done', 'dead', 'skipped'] as const
export type EntryState = (typeof entryStates)[number]

/** At most this many conflicting bodies are kept as evidence for one key. */
export const maxConflicts = 8

/** The newest earlier entries of an entity that an entry relates to the client that it names. */
export const maxEarlier = 500

/** Why an entry is in its state; never text of an error or of the event. */
export type EntryReason =
  | 'HANDLER_FAILED'
  | 'HANDLER_TIMEOUT'
  | 'NON_RETRYABLE'
  | 'CRASHED'
  | 'UNREADABLE'
  | 'BODY_NOT_UTF8'
  | 'BODY_NOT_JSON'
  | 'ENVELOPE_INVALID'
  | 'EVENT_INVALID'
  | 'NO_HANDLER'
  | 'CONFLICT'
  | 'DISMISSED'
  | 'FORGOTTEN'

/** True for evidence and dismissed entries: a redrive must name them. */
export function isSetAside(reason: EntryReason | null | undefined): boolean {
  return reason === 'CONFLICT' || reason === 'DISMISSED'
}

/** True for the lane of a single entry, which has no entity or could not be parsed. */
export function isOwnLane({ id, lane }: { readonly id: string; readonly lane: string }): boolean {
  return lane.split('.')[0] === id
}

/** A handler that failed at the last attempt: class and place of its error, not the text. */
export interface EntryFailure {
  readonly handler: string
  readonly code: string
  readonly error: string
}

/** An entry as an operator sees it: everything but the payload. */
export interface Entry {
  readonly id: string
  readonly state: EntryState
  readonly source: EventSource
  readonly name?: string
  readonly receivedName?: string
  readonly eventId?: string
  readonly entity?: Entity
  /** The tenant of the secret that verified it, if any; unknown once erased. */
  readonly tenant?: string
  readonly occurredAt?: Date
  readonly receivedAt: Date
  /** Attempts that were begun since it arrived or was redriven. */
  readonly attempts: number
  readonly dueAt?: Date
  readonly settledAt?: Date
  readonly reason?: EntryReason
  readonly failures: readonly EntryFailure[]
  readonly handled: readonly string[]
  /** The number of times that it was redriven or replayed. */
  readonly generation: number
  /** The entry that has the same key and other bytes. */
  readonly conflictOf?: string
  readonly bytes: number
  /** The payload was erased, by retention or `forget`. */
  readonly erased: boolean
  /** No key decrypts its content, or the content is damaged. */
  readonly unreadable?: true
  /** The payload, if it was asked for. */
  readonly delivery?: VerifiedDelivery
}
