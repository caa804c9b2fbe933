// The options of a receiver, checked when it is created.

import type { DispatcherOptions } from './dispatch/dispatch.ts'
import type { Around } from './dispatch/handler.ts'
import {
  checkFunction,
  checkMilliseconds,
  checkOptionNames,
  checkWholeNumber,
  invalid,
  kindShown,
} from './foundation/check.ts'
import type { Clock } from './foundation/clock.ts'
import { isPromise } from './host/promises.ts'
import type { Arrival, Kept } from './inbox/entry.ts'
import type { Observe } from './observe/observe.ts'
import type { Responder, RespondOption } from './outcome/reply.ts'
import type { ParseOptions, Parser } from './parse.ts'
import type { AssembledVerification } from './protocol/api-schemas.ts'
import type { SchemaMap } from './protocol/meanings.ts'
import type { Client } from './protocol/resources.ts'
import type { Vendor } from './protocol/vendor.ts'
import type { VerifyOptions } from './verify.ts'

/** The part of an inbox that a receiver uses; `createInbox` creates one. */
export interface Keeper<Tx = unknown> {
  /** Resolves after the commit that stores the delivery; rejects if nothing was committed. */
  keep(arrival: Arrival): Promise<Kept>
  /** Keeps the events of one delivery in one commit. */
  keepAll?(arrivals: readonly Arrival[]): Promise<Kept>
  /** Rejects where the store does not answer; a probe of `doctor` asks, and leaves nothing. */
  check?(): Promise<void>
  /**
   * Binds the inbox to the vendor of its receivers, and gives it their parser.
   *
   * @throws WebhookError `INBOX_INVALID` if it is bound to another vendor
   */
  bind?(vendor: string | undefined, parser: Parser): void
  /** The time before which it may have forgotten what it had, whatever it is set to by now. */
  remembersSince?(): Promise<Date | undefined>
  readonly capabilities?: { readonly tx: boolean; readonly dedupeDays?: number }
  /** Types `context.tx`; it is never there. */
  readonly '~tx'?: () => Tx
}

/** The method of a client that `context.fetch()` calls; `createClient` makes such a client. */
export interface ResourceReader {
  readonly verifications: {
    get(id: string, options: { readonly signal: AbortSignal }): Promise<AssembledVerification>
  }
  readonly clients: {
    get(id: string, options: { readonly signal: AbortSignal }): Promise<Client>
  }
}

/** A client, or a function that returns the client of a tenant. */
export type ClientOption =
  | ResourceReader
  | ((tenant: string | undefined) => ResourceReader | undefined)

/** Options of `createReceiver`. */
export interface ReceiverOptions<Schemas extends SchemaMap = SchemaMap, Tx = unknown>
  extends Omit<VerifyOptions, 'now'>,
    Omit<ParseOptions, 'source' | 'schemas'> {
  /** Standard Schemas by event name: they replace built-in ones or add your events. */
  readonly schemas?: Schemas
  /** Stores deliveries before the reply; a worker handles them. */
  readonly inbox?: Keeper<Tx>
  /** Used by `context.fetch()`: a client, or a function from a tenant to its client. */
  readonly client?: ClientOption
  /**
   * Milliseconds for each handler, then `HANDLER_TIMEOUT`.
   *
   * @default 10_000
   */
  readonly handlerTimeout?: number
  /**
   * The longest body in bytes, else 413.
   *
   * @default 1024 ** 2
   */
  readonly maxBytes?: number
  /**
   * Bytes of bodies held at a time, half for one address; beyond it 503 `OVERLOADED`.
   *
   * @default 64 * 1024 ** 2
   */
  readonly maxInFlightBytes?: number
  /**
   * Milliseconds for a body to arrive, then 400 `BODY_INCOMPLETE`.
   *
   * @default 10_000
   */
  readonly bodyTimeout?: number
  /** Other replies, by kind or code, or a function of outcome and event. */
  readonly respond?: RespondOption | Responder
  /** Gets every outcome and attempt. Without it, failures are process warnings. */
  readonly observe?: Observe
  /** Surrounds each run of a handler, e.g. with a span. */
  readonly around?: Around
  /**
   * A clock for tests.
   *
   * @default () => new Date()
   */
  readonly now?: Clock
}

const names: readonly (keyof ReceiverOptions)[] = [
  ...(['secret', 'scheme', 'authenticity', 'vendor', 'accept', 'envelope', 'schemas'] as const),
  ...(['validate', 'legacy', 'inbox', 'client', 'handlerTimeout', 'maxBytes'] as const),
  ...(['maxInFlightBytes', 'bodyTimeout', 'respond', 'observe', 'around', 'now'] as const),
]

/**
 * Checks what no other room checks, and fills in the defaults.
 *
 * @throws WebhookError `OPTION_INVALID`, `INBOX_INVALID`
 */
export function checkedOptions(options: ReceiverOptions) {
  checkOptionNames('createReceiver', options ?? {}, names)
  if (!['secret', 'scheme', 'vendor'].some((name) => name in (options ?? {}))) {
    const call = 'createReceiver({ secret: process.env.WEBHOOK_SECRET })'
    throw invalid(`createReceiver needs a secret: ${call}`, 'SECRET_INVALID')
  }
  if (options.vendor !== undefined && options.scheme !== undefined) {
    throw invalid('vendor brings its own scheme: leave out scheme, or vendor')
  }
  checkFunction('observe', options.observe, '(seen) => { … }')
  checkFunction('around', options.around, '(run, event, context) => run()')
  checkFunction('now', options.now, '() => new Date()')
  if (options.inbox !== undefined && typeof options.inbox?.keep !== 'function') {
    throw invalid(
      `inbox must be created with createInbox({ store }), got ${kindShown(options.inbox)}`,
      'INBOX_INVALID',
    )
  }
  checkClient(options.client)
  const { maxBytes = 1024 ** 2, handlerTimeout = 10_000, bodyTimeout = 10_000 } = options
  checkWholeNumber('maxBytes', maxBytes, { unit: 'bytes' })
  const { maxInFlightBytes = Math.max(64 * 1024 ** 2, maxBytes) } = options
  checkWholeNumber('maxInFlightBytes', maxInFlightBytes, { least: maxBytes, unit: 'bytes' })
  checkMilliseconds('handlerTimeout', handlerTimeout)
  checkMilliseconds('bodyTimeout', bodyTimeout)
  return { maxBytes, maxInFlightBytes, handlerTimeout, bodyTimeout }
}

/** Refuses other objects: handlers would see every resource as gone. */
function checkClient(client: unknown): void {
  if (client === undefined || typeof client === 'function' || isReader(client)) return
  throw invalid(
    isPromise(client)
      ? 'client is a promise: await it first, or pass a function (tenant) => client'
      : `client must be an object from createClient() or a function (tenant) => client, got ${kindShown(client)}`,
  )
}

/** Tells what `context.fetch()` can read by. */
export function isReader(client: unknown): client is ResourceReader {
  if (typeof client !== 'object' || client === null) return false
  const { verifications, clients } = client as Partial<Record<string, { readonly get?: unknown }>>
  return [verifications, clients].every((one) => typeof one?.get === 'function')
}

/** The handlers that this receiver cannot have: without an inbox nothing remembers decisions. */
export function registrationLimits(
  inbox: Keeper | undefined,
  vendor: Vendor | undefined,
): DispatcherOptions {
  const canReverse = vendor !== undefined && vendor.finality.reversible.length > 0
  return { hearsReversals: !canReverse || inbox !== undefined, withoutTx: withoutTx(inbox) }
}

function withoutTx(inbox: Keeper | undefined): string | undefined {
  if (!inbox) {
    return "needs an inbox in a database: pass inbox: createInbox({ store: sqliteStore('inbox.db') }) to createReceiver"
  }
  if (inbox.capabilities?.tx !== false) return undefined
  return 'needs a store with transactions, which this inbox does not have: use sqliteStore or postgresStore'
}
