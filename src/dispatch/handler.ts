// A handler's context, registration and report.
import type { VerifiedDelivery } from '../delivery.ts'
import type { Superseded, WebhookEvent } from '../protocol/events.ts'
import type { Authenticity } from '../protocol/scheme-definition.ts'

/** The second argument of a handler. */
export interface Context<Resource = unknown, Tx = unknown> {
  /** 1 for the first attempt; with an inbox it counts the retries. */
  readonly attempt: number
  /** The id of the handler that runs. */
  readonly handler: string
  /** Equal in all attempts of one event, and in no other; pass it to the APIs you call. */
  readonly idempotencyKey: string
  /** Aborted at the handler's time limit and by a drain; pass it on. */
  readonly signal: AbortSignal
  /** The id of the secret that signed it, if the secret has one. */
  readonly secretId?: string
  /** The tenant of that secret, if it has one. */
  readonly tenant?: string
  /** The proof of origin: `signature`, `timestamp`, `token` or `ip`. */
  readonly authenticity?: Authenticity
  /** The exact bytes, `headers`, `url` and `receivedAt`. */
  readonly delivery: VerifiedDelivery
  /** With an inbox: an earlier event of the same entity is a dead letter. */
  readonly gap?: boolean
  /** With an inbox: a newer event of the same entity was already handled. */
  readonly stale?: boolean
  /**
   * With an inbox: the earlier decision of the verification that this one replaces.
   *
   * Present only for a vendor whose decisions may be replaced.
   */
  readonly supersedes?: Superseded
  /**
   * With `{ tx: true }`: the open transaction that commits with this handler's checkpoint.
   *
   * It is the handle of the inbox's store. Writes through it commit with the checkpoint, or not at all.
   */
  readonly tx: Tx
  /**
   * Resolves to the current resource that the event names, or to null if it is deleted.
   *
   * @throws WebhookError `CLIENT_MISSING` when the receiver was given no client
   */
  fetch(): Promise<Resource | null>
}

// Method syntax is bivariant, so that handlers of narrower events fit the list of all.
/** User code for an event. */
export type Handler<Event = WebhookEvent, Resource = unknown, Tx = unknown> = {
  handle(event: Event, context: Context<Resource, Tx>): unknown
}['handle']

/**
 * Surrounds each run of a handler: it must call `run` and await it. An attempt succeeds only if the
 * handler and `around` succeed.
 */
export type Around = (run: () => Promise<unknown>, event: WebhookEvent, context: Context) => unknown

/** Options of a handler. */
export interface HandlerOptions {
  /** The handler's name in outcomes and checkpoints; keep it over releases. */
  readonly id?: string
  /**
   * After a newer event of the entity (inbox): run, `skip`, or `refetch` the current data.
   *
   * @default 'deliver'
   */
  readonly stale?: 'deliver' | 'skip' | 'refetch'
  /**
   * Gives the handler `context.tx` (inbox); such handlers take turns on SQLite.
   *
   * @default false
   */
  readonly tx?: boolean
}

export interface Registration {
  readonly id: string
  readonly patterns: readonly string[]
  readonly handler: Handler
  readonly options: HandlerOptions
}

/**
 * Ids that name a step of an attempt among the failures of an entry. No handler may have one of
 * them.
 */
export const attemptSteps = {
  schema: 'schema',
  worker: 'worker',
  decision: 'decision',
} as const

/** A handler that failed: its id, and what it threw. */
export interface HandlerFailure {
  readonly handler: string
  readonly code: 'HANDLER_FAILED' | 'HANDLER_TIMEOUT' | 'DRAINING'
  readonly error: unknown
}

/** The report of one handler. */
export type HandlerReport =
  | { readonly ok: true; readonly handler: string }
  | ({ readonly ok: false } & HandlerFailure)
