// Finds the events that must have happened and never came, and feeds them through the receiver's
// own corridor: kept, retried and handled like any other, once.
import { type Clock, systemClock } from '../clock.ts'
import { WebhookError } from '../errors.ts'
import type { Outcome } from '../outcome.ts'
import { ownEnvelope } from '../protocol/envelope.ts'
import type { Entity } from '../protocol/events.ts'
import type { Receiver } from '../receiver.ts'
import { clientEvents, type DerivedEvent, derivedKey, verificationEvents } from './derive-events.ts'
import { type ReconcileProgress, type ReconcileReport, ReconcileTally } from './reconcile-report.ts'
import { type Lists, type Scanned, scan } from './scan.ts'
import {
  type Bound,
  boundOf,
  isWithin,
  type Mark,
  nextMark,
  type Stream,
  streams,
  timeOf,
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
  /** Begins where the last whole run ended, and notes where this one does. */
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

interface Run {
  readonly options: ReconcileOptions
  readonly feeder: Feeder
  readonly seen: SeenEvents
  readonly tally: ReconcileTally
  /** Keys that were looked at: a record can come twice. */
  readonly looked: Set<string>
  readonly until: number
}

/**
 * Compares what the API shows with what the inbox has, and feeds what is missing with
 * `source: 'reconcile'`. A late real delivery of the same is a duplicate then, and a second run
 * finds nothing. It can be ended and begun again at any time.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`; ApiError; the signal's reason
 * @example
 * const report = await reconcile({ client, receiver, since: '2026-03-01T00:00:00Z' })
 */
export async function reconcile(options: ReconcileOptions): Promise<ReconcileReport> {
  const { watermark: store, now = systemClock, dryRun = false } = options
  const run = prepared(options)
  const began = now()
  const before = (await store?.read()) ?? options.since
  if (before === undefined) {
    throw new WebhookError('OPTION_INVALID', 'reconcile needs since: a time or a watermark')
  }
  const bounds = streams.map((stream) => [stream, boundOf(before, stream, began)] as const)
  const marks: { [Name in Stream]?: Mark } = {}
  for (const [stream, bound] of bounds) {
    const newest = await readStream(run, stream, bound)
    if (newest === 'stopped')
      return run.tally.report({ dryRun, finished: false, watermark: undefined })
    const mark = before instanceof Date || typeof before === 'string' ? undefined : before[stream]
    marks[stream] = nextMark(newest, { bound, before: mark, now: began })
  }
  const report = run.tally.report({ dryRun, finished: true, watermark: marks })
  if (report.complete && !dryRun) await store?.write(marks)
  if (report.complete) return report
  const { watermark: _, ...rest } = report
  return rest
}

function prepared(options: ReconcileOptions): Run {
  const feeder = feederOf(options.receiver)
  const inbox = options.inbox ?? feeder.options.inbox
  if (!feeder.options.inbox || !canFind(inbox)) {
    throw new WebhookError(
      'INBOX_INVALID',
      'reconcile needs a receiver with an inbox, which tells what has come: createReceiver({ secret, inbox: createInbox({ store }) })',
    )
  }
  const until = options.until === undefined ? Infinity : timeOf(options.until, 'until')
  return { options, feeder, seen: inbox, tally: new ReconcileTally(), looked: new Set(), until }
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

/** The newest change that was found, or `stopped` when there is no use in going on. */
async function readStream(
  run: Run,
  stream: Stream,
  bound: Bound,
): Promise<number | undefined | 'stopped'> {
  const { client, signal, onProgress } = run.options
  let newest: number | undefined
  for await (const page of scan(client, stream, { from: bound.from, signal })) {
    run.tally.read(page.of, page.items.length)
    for (const event of eventsOf(page)) {
      const changedAt = Date.parse(event.changedAt)
      if (!isWithin(bound, event.changedAt) || changedAt > run.until) continue
      newest = Math.max(newest ?? changedAt, changedAt)
      if ((await examine(run, event)) === 'stopped') return 'stopped'
    }
    onProgress?.(run.tally.progress(stream))
    signal?.throwIfAborted()
  }
  return newest
}

function eventsOf(page: Scanned): DerivedEvent[] {
  return page.of === 'verification'
    ? page.items.flatMap(verificationEvents)
    : page.items.flatMap(clientEvents)
}

async function examine(run: Run, event: DerivedEvent): Promise<'stopped' | undefined> {
  const { seen, tally, looked, options } = run
  const key = derivedKey(event)
  if (looked.has(key)) return undefined
  looked.add(key)
  tally.count('derived')
  const { name, entity } = event
  const { tenant } = options
  const whose = tenant === undefined ? {} : { tenant }
  const { entries } = await seen.find({ name, entity, ...whose, limit: 1 })
  if (entries.length > 0) {
    tally.count('present')
    return undefined
  }
  tally.missing(event)
  if (options.dryRun) return undefined
  options.signal?.throwIfAborted()
  return feed(run, event, key)
}

async function feed(
  { feeder, tally, options }: Run,
  event: DerivedEvent,
  id: string,
): Promise<'stopped' | undefined> {
  const { name, occurredAt, data } = event
  const envelope = ownEnvelope({ id, name, occurredAt, data })
  const body = new TextEncoder().encode(JSON.stringify(envelope))
  const outcome = await feeder.feed(body, options.tenant)
  if (outcome.kind === 'accepted') tally.count('fed')
  else if (outcome.kind === 'duplicate') tally.count('arrived')
  else if (outcome.kind === 'failed') {
    tally.failed(event, outcome.code)
    // The store or the receiver is going down: the rest would fail the same way.
    return 'stopped'
  } else if (outcome.kind === 'rejected') tally.failed(event, outcome.code)
  return undefined
}
