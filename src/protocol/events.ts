// The events of the service once they are parsed: their types, and the schema of each resource.
import type { DecisionName, EntityType, EventName, ReversalName } from './names.ts'
import {
  type ReceivedClient,
  type ReceivedVerification,
  receivedClientSchema,
  receivedVerificationSchema,
} from './resources.ts'

export function schemasOf<Verification, Client>(verification: Verification, client: Client) {
  return {
    'verification.created': verification,
    'verification.submitted': verification,
    'verification.approved': verification,
    'verification.rejected': verification,
    'verification.canceled': verification,
    'verification.expired': verification,
    'client.created': client,
    'client.updated': client,
    'client.deleted': client,
  } as const
}

/** The schema of the resource that each event carries (section 6; resources of section 2). */
export const eventSchemas = /* @__PURE__ */ schemasOf(
  receivedVerificationSchema,
  receivedClientSchema,
)

/** The resource type of each event. */
export type EventData = {
  readonly [Name in EventName]: Name extends `verification.${string}`
    ? ReceivedVerification
    : ReceivedClient
}

/** The resource that an event is about, and whose order is kept. */
export interface Entity {
  readonly type: EntityType
  /** The resource's id; empty when the event has no id (it then has `issues`). */
  readonly id: string
}

/** Where an event came from: a delivery, the service's API, or kept bytes that run again. */
export type EventSource = 'webhook' | 'reconcile' | 'replay'

/** One place where an event's data does not fit its schema. */
export interface Issue {
  readonly message: string
  readonly path: readonly (string | number)[]
}

/**
 * How a vendor's decision is known: from bytes that a signature covers, by the vendor's API, or from
 * bytes that no signature covers.
 */
export type DecidedBy = 'signed' | 'api' | 'unsigned'

interface EventDetails {
  /** The envelope's id; to recognise duplicates use `context.idempotencyKey`. */
  readonly id?: string
  /** The name that arrived: a legacy name, a vendor's name, or `name`. */
  readonly receivedName: string
  /** The vendor that sent it, if the receiver has a preset. */
  readonly vendor?: string
  /** The vendor's own JSON of this event, if the receiver has a preset. */
  readonly raw?: unknown
  /** How the decision of a vendor is known; absent for other events. */
  readonly decidedBy?: DecidedBy
  /** The time of the occurrence, if the envelope has one. */
  readonly occurredAt?: Date
  /** Where `data` does not fit the event's schema: `{ path, message }[]`, absent if it fits. */
  readonly issues?: readonly Issue[]
  /** `webhook`, `reconcile` (found through the API) or `replay` (run again). */
  readonly source: EventSource
}

/** An event of the service, typed by its name. */
export interface KnownEvent<Name extends string = EventName, Data = unknown> extends EventDetails {
  /** The current name. */
  readonly name: Name
  /** Whether this version, or `schemas`, knows the name; it narrows the type. */
  readonly known: true
  /** `{ type, id }` of the resource; its events are handled in order. */
  readonly entity: Entity
  /** The resource, typed by the name; `unknown` for an unknown event. */
  readonly data: Data
}

/** The earlier decision that an event replaces. */
export interface Superseded {
  readonly name: DecisionName
  readonly occurredAt?: Date
  /** Its entry in the inbox. */
  readonly entryId: string
}

/**
 * A decision that replaced an earlier one of the same verification, under the name
 * `verification.reversed`. The decision's own handlers get it too, under its own name.
 */
export interface ReversalEvent<Data = ReceivedVerification> extends KnownEvent<ReversalName, Data> {
  /** The decision that holds now. */
  readonly decision: DecisionName
  /** The decision that held before. */
  readonly supersedes: Superseded
}

/** An event under a name that this version does not know. */
export interface UnknownEvent extends EventDetails {
  readonly name: string
  readonly known: false
  /** Present when the name begins with a known kind of resource and the data has an id. */
  readonly entity?: Entity
  readonly data: unknown
}

/** The event of each name. */
export type EventMap = {
  readonly [Name in EventName]: KnownEvent<Name, EventData[Name]>
}

/** The event under one name, e.g. `EventOf<'verification.approved'>`. */
export type EventOf<Name extends EventName> = EventMap[Name]

/** Everything that a receiver can dispatch. */
export type WebhookEvent = EventMap[EventName] | UnknownEvent
