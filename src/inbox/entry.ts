// What the receiver hands to an inbox, and what it hears back.
import type { VerifiedDelivery } from '../delivery.ts'
import type { Entity, EventSource } from '../protocol/events.ts'

/** A verified delivery with what could be read of it; bytes that nobody understood have no name. */
export interface Arrival {
  readonly delivery: VerifiedDelivery
  readonly source: EventSource
  /** The id that tells duplicates: from authenticated bytes only. */
  readonly key?: string
  readonly name?: string
  readonly receivedName?: string
  readonly entity?: Entity
  readonly occurredAt?: Date
  /**
   * What happened, whoever tells of it: of a webhook and what reconcile fed with the same one, the
   * second is a duplicate. Two webhooks are told apart by their keys alone.
   */
  readonly occurrence?: string
}

/** What keeping came to; it resolves after the commit that holds the delivery. */
export type Kept =
  | { readonly kind: 'accepted'; readonly entryId: string }
  | { readonly kind: 'duplicate'; readonly entryId: string; readonly conflict?: true }
