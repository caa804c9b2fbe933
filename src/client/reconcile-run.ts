// What a run of reconcile is given, checked: a mistake is told before anything is asked of the API.
import { type Clock, systemClock } from '../clock.ts'
import { WebhookError } from '../errors.ts'
import type { Outcome } from '../outcome.ts'
import type { Entity } from '../protocol/events.ts'
import type { Receiver } from '../receiver.ts'
import { timeOf } from './read-time.ts'
import { type ReconcileProgress, ReconcileTally } from './reconcile-report.ts'
import type { Lists } from './scan-updates.ts'
import {
  ahead,
  type Bound,
  boundOf,
  type Stream,
  streams,
  type Watermark,
  type WatermarkStore,
} from './watermark.ts'

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
  readonly inbox?: SeenEvents | undefined
  /** Whose records the client reads, where the receiver's secrets name tenants. */
  readonly tenant?: string | undefined
  /**
   * Where to begin: a time, or the watermark of an earlier report. It should lie within the time
   * for which the inbox tells duplicates (30 days by default): what is older it may take again.
   */
  readonly since?: Date | string | Watermark | undefined
  /** Leaves out what changed later. */
  readonly until?: Date | string | undefined
  /** Milliseconds before now that are left out too: what may still be on its way. None by default. */
  readonly grace?: number | undefined
  /** Begins where the last whole run ended, and notes where this one does; else `since`. */
  readonly watermark?: WatermarkStore | undefined
  /** Counts what is missing and feeds nothing. */
  readonly dryRun?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** Told after every page. */
  readonly onProgress?: ((progress: ReconcileProgress) => void) | undefined
  readonly now?: Clock | undefined
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
  /** Changes that are later move no mark. */
  readonly latest: number
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
  const began = (options.now ?? systemClock)()
  const grace = graceOf(options)
  const until = Math.min(endOf(options), grace > 0 ? began.getTime() - grace : Infinity)
  const tally = new ReconcileTally()
  const latest = Math.min(until, began.getTime() + ahead)
  return { options, feeder, seen: inbox, tally, looked: new Set(), until, began, latest }
}

/**
 * Checks what can be checked before the first run: where it begins, and what tells what has come.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`
 */
export function checkReconcile(options: ReconcileOptions): void {
  const run = prepared(options)
  if (options.since !== undefined) boundsOf(run, options.since)
}

/**
 * The bounds of the streams.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function boundsOf(
  { began, options }: Run,
  since: ReconcileOptions['since'] | null,
): (readonly [Stream, Bound])[] {
  if (since === undefined || since === null) {
    throw new WebhookError('OPTION_INVALID', 'reconcile needs since: a time or a watermark')
  }
  const bounds = streams.map((stream) => [stream, boundOf(since, stream, began)] as const)
  const isTime = typeof since === 'string' || since instanceof Date
  if (isTime && bounds.some(([, { from }]) => from > endOf(options))) {
    throw new WebhookError('OPTION_INVALID', 'since lies after until: nothing can lie between')
  }
  return bounds
}

function endOf({ until }: ReconcileOptions): number {
  return until === undefined ? Number.POSITIVE_INFINITY : timeOf(until, 'until')
}

function graceOf({ grace = 0 }: ReconcileOptions): number {
  if (Number.isSafeInteger(grace) && grace >= 0) return grace
  throw new WebhookError('OPTION_INVALID', `grace is ${String(grace)}: give milliseconds`)
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
