// Finds the events that must have happened and never arrived, and puts them through the receiver's
// own pipeline: kept, retried and handled like any other, once.

import type { OutcomeCode } from '../errors.ts'
import {
  checkFunction,
  checkMilliseconds,
  checkOptionNames,
  invalid,
  shown,
  suggestion,
} from '../foundation/check.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { warnIfItThrows } from '../foundation/warn.ts'
import { stepsOf } from '../host/brands.ts'
import type { Inbox } from '../inbox/inbox.ts'
import type { Keeper } from '../options.ts'
import type { Outcome } from '../outcome/outcome.ts'
import { ownEnvelope } from '../protocol/envelope.ts'
import type { Entity } from '../protocol/events.ts'
import { parseTime } from '../protocol/json-paths.ts'
import type { EventName } from '../protocol/names.ts'
import type { Receiver } from '../receiver.ts'
import type { Steps } from '../steps.ts'
import {
  clientEvents,
  type DerivedEvent,
  derivedKey,
  unseen,
  verificationEvents,
} from './derive-events.ts'
import { type Lists, type Scanned, scan } from './scan.ts'
import {
  type Bound,
  boundOf,
  nextPosition,
  type Position,
  rememberedBy,
  type Stream,
  streams,
  timeOf,
  type Watermark,
  type WatermarkStore,
} from './watermark.ts'

/** Options of `reconcile`. */
export interface ReconcileOptions {
  readonly client: Lists
  /** A receiver with an inbox, which knows what has arrived. */
  readonly receiver: Pick<Receiver, 'receive'>
  /**
   * The tenant whose records the client reads; null for records without a tenant. Required if all
   * secrets of the receiver name a tenant, or if secrets are looked up and the newest entry of the
   * inbox has a tenant.
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

/** An event that could not be fed. */
export interface FeedFailure {
  readonly name: EventName
  readonly id: string
  readonly code: OutcomeCode
}

/** The progress of a run, reported after every page. */
export interface ReconcileProgress {
  readonly stream: Stream
  /** Records read. */
  readonly read: number
  /** Events that must have happened. */
  readonly events: number
  /** The number of derived events that the inbox had not seen. */
  readonly missing: number
  readonly fed: number
}

/** The result of a run. */
export interface ReconcileReport {
  readonly dryRun: boolean
  /** Everything could be read, and every missing event was fed. */
  readonly complete: boolean
  readonly read: { readonly verifications: number; readonly clients: number }
  readonly events: {
    /** Events that must have happened, derived from what the API shows. */
    readonly derived: number
    /** The number of derived events that the inbox had seen. */
    readonly present: number
    readonly missing: number
    /** The number of missing events that the inbox kept. */
    readonly fed: number
    /** The number of missing events that arrived during the run, by webhook or from another run. */
    readonly arrived: number
    readonly failed: number
  }
  /** Records with unreadable times, of which it is unknown whether they belong to the run. */
  readonly unreadable: {
    readonly count: number
    /** The first hundred. */
    readonly records: readonly Entity[]
  }
  /** The size of the gap. */
  readonly gap: {
    readonly byName: { readonly [Name in EventName]?: number }
    /** The share of expected events that are missing, from 0 to 1. */
    readonly share: number
    readonly oldest?: string
    readonly newest?: string
  }
  /** The first hundred events that could not be fed. */
  readonly failures: readonly FeedFailure[]
  /** Where the next run can begin; absent if it must begin where this run began. */
  readonly watermark?: Watermark
  /** Events that no run can find, because the API does not show them. */
  readonly unseen: readonly string[]
}

type KnownEvents = Keeper & Pick<Inbox, 'find'>

/** The part of a receiver that takes events without a delivery. */
interface Ingester extends Pick<Steps, 'keeper' | 'fetches' | 'tenants'> {
  ingest(body: Uint8Array, tenant?: string): Promise<Outcome>
}

const names: readonly (keyof ReconcileOptions)[] = [
  'client',
  'receiver',
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

/**
 * Compares what the API shows with what the inbox has, and feeds what is missing with
 * `source: 'reconcile'`. A late real delivery of the same event is then a duplicate, and a second
 * run finds nothing. A run can be aborted and started again at any time; a killed one starts over.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`; ApiError; the signal's reason
 * @example
 * const report = await reconcile({ client, receiver, since: '2026-03-01T00:00:00Z' })
 */
export async function reconcile(options: ReconcileOptions): Promise<ReconcileReport> {
  const { watermark: store, dryRun = false } = options
  const run = prepared(options)
  await assertTenant(run)
  const before = (await store?.read()) ?? options.since
  const { tenant } = options
  const reached: { [Name in Stream]?: Position } & { tenant?: string } =
    typeof tenant === 'string' ? { tenant } : {}
  const remembered = await rememberedBy(run.steps.keeper, run.began)
  for (const [stream, bound] of boundsOf(run, before, remembered)) {
    const newest = await readStream(run, stream, bound)
    if (newest === 'stopped') return run.tally.report(dryRun, undefined)
    reached[stream] = nextPosition(newest, bound)
  }
  const report = run.tally.report(dryRun, reached)
  if (report.complete && !dryRun) await store?.write(reached)
  return report
}

/** The newest change that was found, or `stopped` if going on is pointless. */
async function readStream(
  run: ReconcileRun,
  stream: Stream,
  bound: Bound,
): Promise<number | undefined | 'stopped'> {
  const { client, signal, onProgress } = run.options
  let newest: number | undefined
  // The handlers of a receiver that shares the client go first.
  const asking = { signal, background: run.steps.fetches }
  for await (const page of scan(client, stream, { from: bound.from, asking })) {
    run.tally.read[`${page.of}s`] += page.items.length
    for (const event of eventsOf(run, page, bound)) {
      const changedAt = parseTime(event.changedAt)
      if (changedAt > run.until) continue
      if (changedAt <= run.latest) newest = Math.max(newest ?? changedAt, changedAt)
      if ((await examine(run, event)) === 'stopped') return 'stopped'
    }
    warnIfItThrows("reconcile's onProgress", () => onProgress?.(run.tally.progress(stream)))
    signal?.throwIfAborted()
  }
  return newest
}

function eventsOf({ began, tally }: ReconcileRun, page: Scanned, bound: Bound): DerivedEvent[] {
  const records =
    page.of === 'verification'
      ? page.items.map((one) => [one.updatedAt, verificationEvents(one, began)] as const)
      : page.items.map((one) => [one.updatedAt, clientEvents(one)] as const)
  return records.flatMap(([updatedAt, events]) => {
    const readable = events.filter(({ changedAt, entity }) => {
      const known = !Number.isNaN(parseTime(changedAt))
      if (!known) tally.unreadable(entity)
      return known
    })
    const times = [updatedAt, ...readable.map(({ changedAt }) => changedAt)]
    // A record that moved while an earlier run read pages was seen by no run: its past counts too.
    const moved = times.some((time) => parseTime(time) >= bound.from)
    return moved ? readable.filter(({ changedAt }) => parseTime(changedAt) >= bound.floor) : []
  })
}

async function examine(run: ReconcileRun, event: DerivedEvent): Promise<'stopped' | undefined> {
  const { inbox, tally, looked, options } = run
  const key = derivedKey(event)
  if (looked.has(key)) return undefined
  looked.add(key)
  tally.events.derived += 1
  const { name, entity } = event
  // Records fed without a tenant belong to no tenant, even if other senders of the inbox have
  // tenants.
  const { tenant = null } = options
  const { entries } = await inbox.find({ name, entity, tenant, limit: 1 })
  if (entries.length > 0) {
    tally.events.present += 1
    return undefined
  }
  tally.missing(event)
  if (options.dryRun) return undefined
  options.signal?.throwIfAborted()
  return feed(run, event, key)
}

async function feed(
  { steps, tally, options }: ReconcileRun,
  event: DerivedEvent,
  id: string,
): Promise<'stopped' | undefined> {
  const { name, occurredAt, data } = event
  const envelope = ownEnvelope({ id, name, occurredAt, data })
  const body = new TextEncoder().encode(JSON.stringify(envelope))
  const outcome = await steps.ingest(body, options.tenant ?? undefined)
  if (outcome.kind === 'accepted') tally.events.fed += 1
  else if (outcome.kind === 'duplicate') tally.events.arrived += 1
  else if (outcome.kind === 'failed') {
    tally.failed(event, outcome.code)
    // The store or the receiver is shutting down: the rest would fail the same way.
    return 'stopped'
  } else if (outcome.kind === 'rejected') tally.failed(event, outcome.code)
  return undefined
}

const maxListed = 100

class ReconcileTally {
  readonly read = { verifications: 0, clients: 0 }
  readonly events = { derived: 0, present: 0, missing: 0, fed: 0, arrived: 0, failed: 0 }
  readonly #byName: { [Name in EventName]?: number } = {}
  readonly #failures: FeedFailure[] = []
  readonly #unreadable = new Map<string, Entity>()
  #oldest: string | undefined
  #newest: string | undefined

  missing({ name, occurredAt }: DerivedEvent): void {
    this.events.missing += 1
    this.#byName[name] = (this.#byName[name] ?? 0) + 1
    const at = parseTime(occurredAt)
    if (!(at >= parseTime(this.#oldest ?? ''))) this.#oldest = occurredAt
    if (!(at <= parseTime(this.#newest ?? ''))) this.#newest = occurredAt
  }

  failed({ name, entity }: DerivedEvent, code: OutcomeCode): void {
    this.events.failed += 1
    if (this.#failures.length < maxListed) this.#failures.push({ name, id: entity.id, code })
  }

  unreadable(record: Entity): void {
    this.#unreadable.set(`${record.type} ${record.id}`, record)
  }

  progress(stream: Stream): ReconcileProgress {
    const { derived: events, missing, fed } = this.events
    return { stream, read: this.read.verifications + this.read.clients, events, missing, fed }
  }

  /** `watermark` is where the run ended, or undefined if it stopped before its end. */
  report(dryRun: boolean, watermark: Watermark | undefined): ReconcileReport {
    const { derived, missing, failed } = this.events
    const count = this.#unreadable.size
    const isWhole = watermark !== undefined && failed === 0 && count === 0
    const complete = isWhole && (missing === 0 || !dryRun)
    const [oldest, newest] = [this.#oldest, this.#newest]
    const share = missing / (derived || 1)
    return defined({
      dryRun,
      complete,
      read: this.read,
      events: this.events,
      unreadable: { count, records: [...this.#unreadable.values()].slice(0, maxListed) },
      gap: defined({ byName: this.#byName, share, oldest, newest }),
      failures: this.#failures,
      watermark: complete ? watermark : undefined,
      unseen,
    })
  }
}

interface ReconcileRun {
  readonly options: ReconcileOptions
  readonly steps: Ingester
  readonly inbox: KnownEvents
  readonly tally: ReconcileTally
  /** Keys that were examined: a record can come twice. */
  readonly looked: Set<string>
  readonly until: number
  readonly began: Date
  /** Changes after this time move no position, because the service's clock may be behind. */
  readonly latest: number
}

function prepared(options: ReconcileOptions): ReconcileRun {
  checkOptionNames('reconcile', options, names)
  const { verifications, clients } = (options.client ?? {}) as Partial<Lists>
  if (typeof verifications?.iterate !== 'function' || typeof clients?.iterate !== 'function') {
    throw invalid('client must be created with createClient()')
  }
  const steps = stepsOf<Ingester>(options.receiver)
  if (!steps) {
    throw invalid(`receiver must be created with createReceiver(), got ${shown(options.receiver)}`)
  }
  const { keeper: inbox } = steps
  if (!isKnownEvents(inbox)) {
    throw invalid(
      'reconcile needs a receiver with an inbox, which knows what has arrived: createReceiver({ secret, inbox: createInbox({ store }) })',
      'INBOX_INVALID',
    )
  }
  assertKnownTenant(options, steps)
  const { grace = 0, now = systemClock } = options
  checkMilliseconds('grace', grace, 0)
  checkFunction('onProgress', options.onProgress, '(progress) => log.info(progress)')
  const began = now()
  const until = Math.min(endOf(options), grace > 0 ? began.getTime() - grace : Infinity)
  const latest = Math.min(until, began.getTime())
  const tally = new ReconcileTally()
  return { options, steps, inbox, tally, looked: new Set(), until, began, latest }
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
  throw invalid(
    `reconcile: no secret of this receiver is of the tenant '${tenant}'.${suggestion(tenant, named)}`,
  )
}

/** If secrets are looked up, the newest entry shows whether they name tenants. */
async function assertTenant({ options, steps, inbox }: ReconcileRun): Promise<void> {
  if (options.tenant !== undefined || steps.tenants) return
  const [newest] = (await inbox.find({ limit: 1 })).entries
  if (newest?.tenant !== undefined) throw tenantMissing()
}

const tenantMissing = () =>
  invalid(
    'reconcile: deliveries of this receiver have tenants: pass the tenant whose records the client reads, or null for none',
  )

/** @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID` */
export function checkReconcile(options: ReconcileOptions): void {
  const run = prepared(options)
  if (options.since !== undefined) boundsOf(run, options.since)
}

/** Only runs of the same tenant may continue a watermark. */
function assertSameTenant({ tenant }: Watermark, options: ReconcileOptions): void {
  const [read, asked] = [tenant ?? null, options.tenant ?? null]
  if (read === asked) return
  const nameOf = (one: string | null) => (one === null ? 'no tenant' : `the tenant '${one}'`)
  throw invalid(
    `the watermark is from a run for ${nameOf(read)}, but this run is for ${nameOf(asked)}: keep one watermark for each`,
  )
}

/** The bounds of the streams, for an inbox that remembers so many milliseconds. */
function boundsOf(
  { began, options }: ReconcileRun,
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

function isKnownEvents(inbox: Keeper | undefined): inbox is KnownEvents {
  return inbox !== undefined && 'find' in inbox && typeof inbox.find === 'function'
}
