// What the engine keeps of subscriptions, deliveries and attempts: JSON, so that it survives a
// restart. Bytes are base64.

import type { FaultKind } from '../../protocol/fault-schemas.ts'
import type { EventName } from '../../protocol/names.ts'
import type { EngineSubscription } from '../engine.ts'

/** A subscription with what only the engine needs. */
export interface SubscriptionRow extends EngineSubscription {
  readonly organisationId: string | null
  /** The secret before the last rotation, and until when it signs beside the new one. */
  readonly previous?: { readonly secret: string; readonly until: string }
}

/** `held` while its subscription is paused, `dropped` by a fault. */
export type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'dropped' | 'held'

/** One request and what came of it. */
export interface Attempt {
  readonly at: string
  readonly durationMs: number
  readonly request: {
    readonly method: 'POST'
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
  readonly response?: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
  /** Why there was no answer. */
  readonly error?: string
  /** The fault that spoiled it. */
  readonly fault?: string
}

/** A delivery: bytes that are fixed, and the attempts to bring them. */
export interface DeliveryRow {
  readonly id: string
  readonly seq: number
  readonly subscriptionId: string
  readonly eventId: string
  /** The name under which it is delivered. */
  readonly event: string
  readonly canonicalEvent: EventName
  /** The resource that it is about. */
  readonly resourceId: string
  readonly body: string
  readonly createdAt: string
  readonly status: DeliveryStatus
  /** When the next attempt is due; null when there is none. */
  readonly nextAttemptAt: string | null
  /** The headers of the first signature: what is sent again is not signed again. */
  readonly signature?: Readonly<Record<string, string>>
  readonly attempts: readonly Attempt[]
  /** The fault that planned it so. */
  readonly fault?: FaultKind
  /** Waits until a later delivery to the same subscription has gone first. */
  readonly after?: true
}
