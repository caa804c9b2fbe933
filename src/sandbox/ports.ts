// What the API, the control plane and the state need of the clock, the generator, the deliveries
// and the faults: ports alone, so that each side can be read and tested without the other.
import type { Fetch } from '../client/attempt.ts'
import type { Delivery, DeliveryRow, DeliverySummary } from './schemas/deliveries.ts'
import type { StateRow } from './schemas/snapshot.ts'

/** The sandbox's time; what falls due happens in the order of time while it moves. */
export interface EngineClock {
  now(): Date
  readonly frozen: boolean
  freeze(): void
  unfreeze(): void
  set(date: Date): Promise<void>
  advance(by: { readonly seconds?: number; readonly days?: number }): Promise<void>
  /** Runs a task at a time; returns its cancellation. */
  schedule(at: Date, task: () => void): () => void
  dump(): StateRow['clock']
  /** Ends what is moving it: nothing of before goes on. */
  load(saved: StateRow['clock']): void
  close(): void
}

/** Ids, tokens and dice that follow from the seed alone. */
export interface EngineRandom {
  uuid(): string
  token(): string
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number
  readonly seed: string | number
  state(): Readonly<StateRow['random']>
  restore(seed: string | number, state: Readonly<StateRow['random']>): void
}

/** A subscription as its owner sees it. */
export interface EngineSubscription {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly secret: string
  readonly active: boolean
  readonly createdAt: string
  /** The organization whose events it hears; null for all of them. */
  readonly organizationId?: string | null
}

export interface SubscriptionInput {
  readonly url: string
  readonly events?: readonly string[] | undefined
  readonly secret?: string | undefined
  readonly active?: boolean | undefined
  readonly organizationId?: string | null | undefined
}

export interface DeliveryFilter {
  readonly subscriptionId?: string | undefined
  readonly event?: string | undefined
  readonly status?: string | undefined
}

/** Signs, sends and keeps; knows no verification. */
export interface EngineDeliveries {
  readonly subscriptions: {
    list(): readonly EngineSubscription[]
    get(id: string): EngineSubscription | undefined
    create(input: SubscriptionInput): EngineSubscription
    update(
      id: string,
      patch: Omit<SubscriptionInput, 'url' | 'organizationId'> & {
        readonly url?: string | undefined
      },
    ): EngineSubscription | undefined
    remove(id: string): boolean
    rotateSecret(
      id: string,
      options?: {
        readonly secret?: string | undefined
        readonly overlapSeconds?: number | undefined
      },
    ): EngineSubscription | undefined
  }
  /** Makes and keeps the deliveries of an occurrence before it returns; sends them later. */
  emit(occurrence: {
    readonly organizationId: string
    readonly name: string
    readonly data: unknown
    readonly occurredAt: Date
  }): void
  /** Newest first, without bytes. */
  list(filter?: DeliveryFilter): readonly DeliverySummary[]
  /** With every attempt's exact bytes. */
  get(id: string): Delivery | undefined
  resend(id: string): Delivery | undefined
  /** Sends again what fits the filter; gives how many. */
  resendAll(filter?: DeliveryFilter): number
  /** Resolves when nothing is due, or when another state is loaded. */
  drain(): Promise<void>
  dump(): EngineDump
  load(saved: EngineDump): void
  close(): void
}

/** A subscription with what only the engine needs. */
export interface SubscriptionRow extends EngineSubscription {
  readonly organizationId: string | null
  /** The secret before the last rotation, and until when it signs beside the new one. */
  readonly previous?: { readonly secret: string; readonly until: string }
}

/** Subscriptions and deliveries as JSON. */
export interface EngineDump {
  readonly subscriptions: readonly SubscriptionRow[]
  readonly deliveries: readonly DeliveryRow[]
}

/** What goes wrong on purpose. */
export interface EngineFaults {
  list(): readonly unknown[]
  /** Replaces all; gives what is wrong with them instead where something is. */
  set(faults: unknown): readonly { readonly field: string; readonly message: string }[]
  clear(): void
  /** The fault that the next API request meets; counts it. */
  forApi(request: { readonly method: string; readonly path: string }): ApiFault | undefined
  dump(): StateRow['faults']
  load(saved: Readonly<StateRow['faults']>): void
}

/** A fault of the API: an error, an answer that never comes, that is broken, or that is late. */
export interface ApiFault {
  readonly kind: string
  /** Seconds of a 429's Retry-After, or of a late answer's delay. */
  readonly seconds?: number | undefined
}

/** The four of them, made together because they share the clock and the dice. */
export interface Engine {
  readonly clock: EngineClock
  readonly random: EngineRandom
  readonly faults: EngineFaults
  readonly deliveries: EngineDeliveries
}

/** A subscription or a delivery that was made, changed or (value undefined) removed. */
export interface EngineChange {
  readonly kind: 'subscription' | 'delivery'
  readonly id: string
  readonly value: unknown
}

export interface EngineOptions {
  readonly seed: string | number
  readonly now: Date | string | (() => Date) | undefined
  readonly fetch: Fetch
  /** Milliseconds that a delivery waits for its answer. */
  readonly timeoutMs?: number
  readonly onChange: (change: EngineChange) => void
}
