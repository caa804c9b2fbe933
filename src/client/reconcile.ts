// Finds the events that must have happened and never arrived, and puts them through the receiver's
// own pipeline: kept, retried and handled like any other, once.

import { defined } from '../foundation/defined.ts'
import { warnIfItThrows } from '../foundation/warn.ts'
import { ownEnvelope } from '../protocol/envelope.ts'
import { idOf, parseTime } from '../protocol/json-paths.ts'
import { clientEvents, type DerivedEvent, derivedKey, verificationEvents } from './derive-events.ts'
import type { ReconcileReport } from './reconcile-report.ts'
import {
  assertTenant,
  boundsOf,
  prepared,
  type ReconcileOptions,
  type Run,
} from './reconcile-run.ts'
import type { Scanned } from './scan.ts'
import { scan } from './scan.ts'
import {
  type Bound,
  isAbove,
  isWithin,
  nextPosition,
  type Position,
  rememberedBy,
  type Stream,
} from './watermark.ts'

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
  const remembered = await rememberedBy(run.pipeline.keeper, run.began)
  for (const [stream, bound] of boundsOf(run, before, remembered)) {
    const newest = await readStream(run, stream, bound)
    if (newest === 'stopped') return run.tally.report(dryRun, undefined)
    const { began: now, until } = run
    reached[stream] = nextPosition(newest, {
      bound,
      before: positionIn(before, stream),
      now,
      until,
    })
  }
  const report = run.tally.report(dryRun, reached)
  if (report.complete && !dryRun) await store?.write(reached)
  return report
}

function positionIn(before: ReconcileOptions['since'], stream: Stream): Position | undefined {
  return before instanceof Date || typeof before === 'string' ? undefined : before?.[stream]
}

/** The newest change that was found, or `stopped` if going on is pointless. */
async function readStream(
  run: Run,
  stream: Stream,
  bound: Bound,
): Promise<number | undefined | 'stopped'> {
  const { client, signal, onProgress } = run.options
  let newest: number | undefined
  // The handlers of a receiver that shares the client go first.
  const asking = { signal, background: run.pipeline.fetches }
  for await (const page of scan(client, stream, { from: bound.from, asking })) {
    run.tally.read(page.of, page.items.length)
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

/** The events of a page that belong to the run. */
function eventsOf({ began, tally }: Run, page: Scanned, bound: Bound): DerivedEvent[] {
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
    const moved = times.some((time) => isWithin(bound, time))
    return readable.filter((event) => {
      const { changedAt, entity } = event
      if (!isWithin(bound, changedAt) && !(moved && isAbove(bound, changedAt))) return false
      // Without its key the inbox would not know the event again: each run would feed it.
      const known = idOf(derivedKey(event)) !== undefined
      if (!known) tally.unreadable(entity)
      return known
    })
  })
}

async function examine(run: Run, event: DerivedEvent): Promise<'stopped' | undefined> {
  const { seen, tally, looked, options } = run
  const key = derivedKey(event)
  if (looked.has(key)) return undefined
  looked.add(key)
  tally.count('derived')
  const { name, entity } = event
  // What is fed without a tenant is of none, whatever the other senders of the inbox have.
  const { tenant = run.isOwn ? null : undefined } = options
  const { entries } = await seen.find({ name, entity, ...defined({ tenant }), limit: 1 })
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
  { pipeline, tally, options }: Run,
  event: DerivedEvent,
  id: string,
): Promise<'stopped' | undefined> {
  const { name, occurredAt, data } = event
  const envelope = ownEnvelope({ id, name, occurredAt, data })
  const body = new TextEncoder().encode(JSON.stringify(envelope))
  const outcome = await pipeline.ingest(body, options.tenant ?? undefined)
  if (outcome.kind === 'accepted') tally.count('fed')
  else if (outcome.kind === 'duplicate') tally.count('arrived')
  else if (outcome.kind === 'failed') {
    tally.failed(event, outcome.code)
    // The store or the receiver is shutting down: the rest would fail the same way.
    return 'stopped'
  } else if (outcome.kind === 'rejected') tally.failed(event, outcome.code)
  return undefined
}
