// The options of a run of reconcile, checked: mistakes are reported before the API is called.

import {
  checkFunction,
  checkMilliseconds,
  checkOptionNames,
  insideOf,
  invalid,
  shown,
  suggestion,
} from '../foundation/check.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import type { Keeper } from '../options.ts'
import type { Outcome } from '../outcome/outcome.ts'
import type { Entity } from '../protocol/events.ts'
import type { Receiver } from '../receiver.ts'
import { type ReconcileProgress, ReconcileTally } from './reconcile-report.ts'
import type { Lists } from './scan.ts'
import {
  type Bound,
  boundOf,
  type Stream,
  streams,
  timeOf,
  type Watermark,
  type WatermarkStore,
} from './watermark.ts'

/** The part of an inbox that reconcile uses: whether it has seen an event of an entity. */
export interface SeenEvents {
  find(query: {
    readonly name?: string
    readonly entity?: Entity
    /** Null for entries of no tenant. */
    readonly tenant?: string | null
    readonly limit: number
  }): Promise<{ readonly entries: readonly { readonly tenant?: string }[] }>
}

/** Options of `reconcile`. */
export interface ReconcileOptions {
  readonly client: Lists
  /** A receiver with an inbox, which knows what has arrived. */
  readonly receiver: Pick<Receiver, 'receive'>
  /** The receiver's own inbox by default. */
  readonly inbox?: SeenEvents | undefined
  /**
   * The tenant whose records the client reads; null for records of none. Required if all secrets of
   * the receiver name a tenant, or if secrets are looked up and the newest entry of the inbox has one.
   */
  readonly tenant?: string | null | undefined
  /**
   * Where to begin: a time, or the watermark of an earlier report. It should lie within the
   * inbox's dedupe window (30 days by default): older events may be taken again.
   */
  readonly since?: Date | string | Watermark | undefined
  /** Ignores later changes. */
  readonly until?: Date | string | undefined
  /** Milliseconds before now to ignore, for deliveries still on their way. None by default. */
  readonly grace?: number | undefined
  /** Begins where the last complete run ended, else at `since`, and stores where this one ends. */
  readonly watermark?: WatermarkStore | undefined
  /** Counts missing events without feeding them. */
  readonly dryRun?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** Called after every page. */
  readonly onProgress?: ((progress: ReconcileProgress) => void) | undefined
  readonly now?: Clock | undefined
}

/** The part of a receiver that takes events without a delivery. */
interface Ingester {
  readonly keeper: Keeper | undefined
  /** Whether its handlers can read through a client. */
  readonly fetches: boolean
  /** The tenants of its secrets, undefined for one without; undefined where they are looked up. */
  readonly tenants: readonly (string | undefined)[] | undefined
  ingest(body: Uint8Array, tenant?: string): Promise<Outcome>
}

const names: readonly (keyof ReconcileOptions)[] = [
  'client',
  'receiver',
  'inbox',
  'tenant',
  'since',
  'until',
  'grace',
  'watermark',
  'dryRun',
  'signal',
  'onProgress',
  'now',
]

/** A run in progress. */
export interface Run {
  readonly options: ReconcileOptions
  readonly pipeline: Ingester
  readonly seen: SeenEvents
  /** It is the inbox of the receiver. */
  readonly isOwn: boolean
  readonly tally: ReconcileTally
  /** Keys that were examined: a record can come twice. */
  readonly looked: Set<string>
  readonly until: number
  readonly began: Date
  /** Later changes move no position: `now` of the service may be behind. */
  readonly latest: number
}

/**
 * Checks the options of a run that begins.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`
 */
export function prepared(options: ReconcileOptions): Run {
  checkOptionNames('reconcile', options, names)
  const { verifications, clients } = (options.client ?? {}) as Partial<Lists>
  if (typeof verifications?.iterate !== 'function' || typeof clients?.iterate !== 'function') {
    throw invalid('client must be created with createClient()')
  }
  const pipeline = insideOf<Ingester>(options.receiver)
  if (!pipeline) {
    throw invalid(`receiver must be created with createReceiver(), got ${shown(options.receiver)}`)
  }
  const inbox: unknown = options.inbox ?? pipeline.keeper
  const isOwn = inbox === pipeline.keeper
  if (!pipeline.keeper || !canFind(inbox)) {
    throw invalid(
      'reconcile needs a receiver with an inbox, which knows what has arrived: createReceiver({ secret, inbox: createInbox({ store }) })',
      'INBOX_INVALID',
    )
  }
  assertKnownTenant(options, pipeline)
  const { grace = 0, now = systemClock } = options
  checkMilliseconds('grace', grace, 0)
  checkFunction('onProgress', options.onProgress, '(progress) => log.info(progress)')
  const began = now()
  const until = Math.min(endOf(options), grace > 0 ? began.getTime() - grace : Infinity)
  const tally = new ReconcileTally()
  const latest = Math.min(until, began.getTime())
  const bounds = { until, began, latest }
  return { options, pipeline, seen: inbox, isOwn, tally, looked: new Set(), ...bounds }
}

/** An event that is fed for a wrong tenant is not recognized when it is delivered later. */
function assertKnownTenant({ tenant }: ReconcileOptions, { tenants }: Ingester): void {
  if (!tenants || tenant === null) return
  const named = tenants.filter((one) => one !== undefined)
  if (tenant === undefined) {
    if (named.length < tenants.length) return
    throw tenantMissing()
  }
  if (named.includes(tenant)) return
  const have = named.length === 0 ? 'they name none' : `they name ${named.slice(0, 3).join(', ')}`
  throw invalid(
    `reconcile: no secret of this receiver is of the tenant '${tenant}': ${have}.${suggestion(tenant, named)}`,
  )
}

/**
 * If secrets are looked up, the newest entry shows whether they name tenants.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export async function assertTenant({ options, pipeline, seen, isOwn }: Run): Promise<void> {
  if (options.tenant !== undefined || !isOwn || pipeline.tenants) return
  const [newest] = (await seen.find({ limit: 1 })).entries
  if (newest?.tenant !== undefined) throw tenantMissing()
}

const tenantMissing = () =>
  invalid(
    'reconcile: deliveries of this receiver have tenants: pass the tenant whose records the client reads, or null for none',
  )

/**
 * Checks what can be checked before the first run: where it begins, and which inbox it asks.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`
 */
export function checkReconcile(options: ReconcileOptions): void {
  const run = prepared(options)
  if (options.since !== undefined) boundsOf(run, options.since)
}

/** The records of another tenant count as read by its own runs alone. */
function assertSameTenant({ tenant }: Watermark, options: ReconcileOptions): void {
  const [read, asked] = [tenant ?? null, options.tenant ?? null]
  if (read === asked) return
  const nameOf = (one: string | null) => (one === null ? 'no tenant' : `the tenant '${one}'`)
  throw invalid(
    `the watermark is from a run for ${nameOf(read)}, but this run is for ${nameOf(asked)}: keep one watermark for each`,
  )
}

/**
 * The bounds of the streams, for an inbox that remembers so many milliseconds.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function boundsOf(
  { began, options }: Run,
  since: ReconcileOptions['since'] | null,
  remembered = 0,
): (readonly [Stream, Bound])[] {
  if (since === undefined || since === null) {
    throw invalid('reconcile needs since: a time or a watermark')
  }
  const known = { now: began, remembered }
  const bounds = streams.map((stream) => [stream, boundOf(since, stream, known)] as const)
  const isTime = typeof since === 'string' || since instanceof Date
  if (!isTime) assertSameTenant(since, options)
  if (isTime && bounds.some(([, { from }]) => from > endOf(options))) {
    throw invalid('since must not be later than until')
  }
  return bounds
}

function endOf({ until }: ReconcileOptions): number {
  return until === undefined ? Number.POSITIVE_INFINITY : timeOf(until, 'until')
}

function canFind(inbox: unknown): inbox is SeenEvents {
  return typeof (inbox as Partial<SeenEvents> | null | undefined)?.find === 'function'
}
