// One delivery in the inbox: what the receiver hands over, what it hears back, the states that an
// entry goes through and the moves between them.
import type { VerifiedDelivery } from '../delivery.ts'
import type { Entity, EventSource } from '../protocol/events.ts'

/** A verified delivery with what could be read of it; bytes that nobody understood have no name. */
export interface Arrival {
  readonly delivery: VerifiedDelivery
  readonly source: EventSource
  /** The id that tells duplicates: from authenticated bytes only. */
  readonly key?: string
  /** There is no id, and equal bodies are one event. */
  readonly dedupe?: 'body'
  /** The part of the body that repeats have in common; all of it where there is none. */
  readonly lasting?: Uint8Array
  /** The receiver that stores it rejects its data. */
  readonly schemaRejected?: true
  readonly name?: string
  readonly receivedName?: string
  readonly entity?: Entity
  /** Another resource that the event speaks of; forgetting that one forgets this event too. */
  readonly related?: Entity
  readonly occurredAt?: Date
  /** When its resource changed last, as the event has it. */
  readonly updatedAt?: Date
  /**
   * Identifies the occurrence, whatever reports it: if a webhook and reconcile bring the same occurrence, the second is
   * a duplicate. Two webhooks are compared by their keys alone.
   */
  readonly occurrence?: string
  /** It is a later occurrence than the one that reconcile has fed under that. */
  readonly recurs?: true
}

/** The result of keeping, after the commit that stores the delivery. */
export type Kept =
  | { readonly kind: 'accepted'; readonly entryId: string }
  | { readonly kind: 'duplicate'; readonly entryId: string; readonly conflict?: true }

/** The states of an entry. `stored`, `leased` and `retry` are open, the others are ends. */
export const entryStates = ['stored', 'leased', 'retry', 'done', 'dead', 'skipped'] as const
export type EntryState = (typeof entryStates)[number]

/** Whether an entry of this state is still to be handled. */
export function isOpen(state: EntryState): boolean {
  return state === 'stored' || state === 'leased' || state === 'retry'
}

/** The most conflicting bodies that are kept as evidence for one key. */
export const mostConflicts = 8

/**
 * Entries of an entity that a later one, which names its client, makes findable by that client: the newest.
 * The delivery that does so is kept in one commit with others. `forget` finds all.
 */
export const mostEarlier = 500

/** Why an entry is where it is; never text of an error or of the event. */
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

/** Whether it waits for nobody, as evidence or because a person settled it: it runs only if named. */
export function isSetAside(reason: EntryReason | null | undefined): boolean {
  return reason === 'CONFLICT' || reason === 'DISMISSED'
}

/** Whether a lane is of one entry alone, which has no entity or could not be read. */
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
  /** When a retry is due. */
  readonly dueAt?: Date
  readonly settledAt?: Date
  readonly reason?: EntryReason
  readonly failures: readonly EntryFailure[]
  /** The handlers that have succeeded. */
  readonly handled: readonly string[]
  /** How often it was redriven or replayed. */
  readonly generation: number
  /** The entry whose key this one shares, with other bytes. */
  readonly conflictOf?: string
  readonly bytes: number
  /** The payload is gone: its retention is over, or the person was forgotten. */
  readonly erased: boolean
  /** No key opens what is kept of it, or that is damaged: it cannot be handled as it is. */
  readonly unreadable?: true
  /** The payload, only where it was asked for. */
  readonly delivery?: VerifiedDelivery
}
