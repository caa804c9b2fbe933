// Finds the events that must have happened and never came, and feeds them through the receiver's
// own corridor: kept, retried and handled like any other, once.
import { ownEnvelope } from '../protocol/envelope.ts'
import { clientEvents, type DerivedEvent, derivedKey, verificationEvents } from './derive-events.ts'
import type { ReconcileReport } from './reconcile-report.ts'
import { noBeginning, prepared, type ReconcileOptions, type Run } from './reconcile-run.ts'
import { type Scanned, scan } from './scan.ts'
import {
  type Bound,
  boundOf,
  isWithin,
  type Mark,
  nextMark,
  type Stream,
  streams,
} from './watermark.ts'

/**
 * Compares what the API shows with what the inbox has, and feeds what is missing with
 * `source: 'reconcile'`. A late real delivery of the same is a duplicate then, and a second run
 * finds nothing. It can be ended and begun again at any time; what was killed begins where it had
 * begun.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`; ApiError; the signal's reason
 * @example
 * const report = await reconcile({ client, receiver, since: '2026-03-01T00:00:00Z' })
 */
export async function reconcile(options: ReconcileOptions): Promise<ReconcileReport> {
  const { watermark: store, dryRun = false } = options
  const run = prepared(options)
  const before = (await store?.read()) ?? options.since
  if (before === undefined) throw noBeginning()
  const bounds = streams.map((stream) => [stream, boundOf(before, stream, run.began)] as const)
  const marks: { [Name in Stream]?: Mark } = {}
  for (const [stream, bound] of bounds) {
    const newest = await readStream(run, stream, bound)
    if (newest === 'stopped')
      return run.tally.report({ dryRun, finished: false, watermark: undefined })
    const mark = before instanceof Date || typeof before === 'string' ? undefined : before[stream]
    marks[stream] = nextMark(newest, { bound, before: mark, now: run.began })
  }
  const report = run.tally.report({ dryRun, finished: true, watermark: marks })
  if (report.complete && !dryRun) await store?.write(marks)
  if (report.complete) return report
  const { watermark: _, ...rest } = report
  return rest
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
    for (const event of eventsOf(run, page)) {
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

function eventsOf({ began, tally }: Run, page: Scanned): DerivedEvent[] {
  const events =
    page.of === 'verification'
      ? page.items.flatMap((one) => verificationEvents(one, began))
      : page.items.flatMap(clientEvents)
  return events.filter(({ changedAt, entity }) => {
    const readable = !Number.isNaN(Date.parse(changedAt))
    if (!readable) tally.unreadable(entity)
    return readable
  })
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
