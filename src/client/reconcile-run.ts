// What a run of reconcile is given, checked: a mistake is told before anything is asked of the API.
import { type Clock, systemClock } from '../clock.ts'
import { WebhookError } from '../errors.ts'
import type { Outcome } from '../outcome.ts'
import type { Entity } from '../protocol/events.ts'
import type { Receiver } from '../receiver.ts'
import { type ReconcileProgress, ReconcileTally } from './reconcile-report.ts'
import type { Lists } from './scan.ts'
import { boundOf, streams, timeOf, type Watermark, type WatermarkStore } from './watermark.ts'

/** What reconcile asks of an inbox: whether it has seen an event of an entity. */
export interface SeenEvents {
  find(query: {
    readonly name: string
    readonly entity: Entity
    readonly tenant?: string
    readonly limit: number
  }): Promise<{ readonly entries: readonly unknown[] }>
}

/** Options of `reconcile`. */
export interface ReconcileOptions {
  readonly client: Lists
  /** A receiver with an inbox: without one nobody can tell what has come. */
  readonly receiver: Pick<Receiver, 'receive'>
  /** The receiver's own inbox by default. */
  readonly inbox?: SeenEvents
  /** Whose records the client reads, where the receiver's secrets name tenants. */
  readonly tenant?: string
  /**
   * Where to begin: a time, or the watermark of an earlier report. It should lie within the time
   * for which the inbox tells duplicates (30 days by default): what is older it may take again.
   */
  readonly since?: Date | string | Watermark
  /** Leaves out what changed later, e.g. what may still be on its way. */
  readonly until?: Date | string
  /** Begins where the last whole run ended, and notes where this one does; else `since`. */
  readonly watermark?: WatermarkStore
  /** Counts what is missing and feeds nothing. */
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
  /** Told after every page. */
  readonly onProgress?: (progress: ReconcileProgress) => void
  readonly now?: Clock
}

/** The part of a receiver that events without a delivery come in by. */
interface Feeder {
  readonly options: { readonly inbox?: unknown }
  feed(body: Uint8Array, tenant?: string): Promise<Outcome>
}

/** One run under way. */
export interface Run {
  readonly options: ReconcileOptions
  readonly feeder: Feeder
  readonly seen: SeenEvents
  readonly tally: ReconcileTally
  /** Keys that were looked at: a record can come twice. */
  readonly looked: Set<string>
  readonly until: number
  readonly began: Date
}

/**
 * Checks the options of a run that begins.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`
 */
export function prepared(options: ReconcileOptions): Run {
  const { verifications, clients } = (options.client ?? {}) as Partial<Lists>
  if (typeof verifications?.iterate !== 'function' || typeof clients?.iterate !== 'function') {
    throw new WebhookError('OPTION_INVALID', 'client is none: give what createClient() made')
  }
  const feeder = feederOf(options.receiver)
  const inbox = options.inbox ?? feeder.options.inbox
  if (!feeder.options.inbox || !canFind(inbox)) {
    throw new WebhookError(
      'INBOX_INVALID',
      'reconcile needs a receiver with an inbox, which tells what has come: createReceiver({ secret, inbox: createInbox({ store }) })',
    )
  }
  const until = options.until === undefined ? Infinity : timeOf(options.until, 'until')
  const began = (options.now ?? systemClock)()
  const tally = new ReconcileTally()
  return { options, feeder, seen: inbox, tally, looked: new Set(), until, began }
}

/**
 * Checks what can be checked before the first run: where it begins, and what tells what has come.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`
 */
export function checkReconcile(options: ReconcileOptions): void {
  const { began } = prepared(options)
  const { since, watermark } = options
  if (since !== undefined) for (const stream of streams) boundOf(since, stream, began)
  else if (watermark === undefined) throw noBeginning()
}

export function noBeginning(): WebhookError {
  return new WebhookError('OPTION_INVALID', 'reconcile needs since: a time or a watermark')
}

function feederOf(receiver: unknown): Feeder {
  // Feeding is no part of the public type: what it takes, nobody has signed.
  const feeder = receiver as Partial<Feeder> | null | undefined
  if (typeof feeder?.feed === 'function' && feeder.options) return feeder as Feeder
  throw new WebhookError('OPTION_INVALID', 'receiver is none: give what createReceiver() made')
}

function canFind(inbox: unknown): inbox is SeenEvents {
  return typeof (inbox as Partial<SeenEvents> | null | undefined)?.find === 'function'
}
