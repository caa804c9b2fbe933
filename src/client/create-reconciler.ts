// Runs reconcile on a schedule, one run at a time; each run begins where the last complete run
// ended.

import { isWebhookError } from '../errors.ts'
import { sleep } from '../foundation/abortable.ts'
import { checkFunction, checkMilliseconds } from '../foundation/check.ts'
import { systemClock } from '../foundation/clock.ts'
import { warn, warnIfItThrows, warnOnce } from '../foundation/warn.ts'
import { describeError, printable } from '../observe/observe.ts'
import { isApiError } from './api-error.ts'
import {
  checkReconcile,
  type ReconcileOptions,
  type ReconcileReport,
  reconcile,
} from './reconcile.ts'
import type { Watermark, WatermarkStore } from './watermark.ts'

/** How far the first run looks back, in milliseconds. */
const lookBack = 24 * 60 * 60_000

/** Options of `createReconciler`. */
export interface ReconcilerOptions
  extends Omit<ReconcileOptions, 'since' | 'until' | 'signal' | 'dryRun'> {
  /**
   * Where the first run begins if there is no watermark yet. By default one day before the
   * reconciler was created, for events that came while the application was down.
   */
  readonly since?: ReconcileOptions['since']
  /** Milliseconds from the end of a run to the next; 15 minutes by default. */
  readonly every?: number | undefined
  /** Milliseconds that a delivery may take before its event counts as missing; 2 minutes. */
  readonly grace?: number | undefined
  /**
   * Called with the report of every run, e.g. to raise an alarm over its gap. By default a run whose
   * records cannot all be read is a process warning, once.
   */
  readonly onReport?: ((report: ReconcileReport) => void) | undefined
  /** Called when a scheduled run fails; a process warning by default. The schedule goes on. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** Reconciles on a schedule. */
export interface Reconciler {
  /** Starts the schedule; the first run begins at once. */
  start(): void
  /** Runs now, or joins the current run. */
  run(): Promise<ReconcileReport>
  /** Stops the current run, without harm, and the schedule; `start` resumes it. */
  stop(): Promise<void>
}

/**
 * Creates a schedule of runs. Without a `watermark` store the position is kept in memory: after a
 * restart, events older than `since` reaches back are never found.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`
 * @example
 * const reconciler = createReconciler({ client, receiver, watermark })
 * reconciler.start()
 */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const {
    every = 15 * 60_000,
    onReport = warnUnreadable(),
    onError = warnFailure,
    ...shared
  } = options
  const { now = systemClock, watermark = inMemory(), grace = 2 * 60_000 } = shared
  checkMilliseconds('every', every)
  checkFunction('onReport', onReport, '(report) => log.info(report)')
  checkFunction('onError', onError, '(error) => log.error(error)')
  const since = shared.since ?? new Date(now().getTime() - lookBack)
  const run = { ...shared, since, watermark, grace }
  checkReconcile(run)
  return schedule(
    every,
    async (signal) => {
      const report = await reconcile({ ...run, signal })
      warnIfItThrows("the reconciler's onReport", () => onReport(report))
      return report
    },
    (error) => warnIfItThrows("the reconciler's onError", () => onError(error)),
  )
}

function schedule(
  every: number,
  runOnce: (signal: AbortSignal) => Promise<ReconcileReport>,
  onError: (error: unknown) => void,
): Reconciler {
  let running: Promise<ReconcileReport> | undefined
  let stop = new AbortController()
  let scheduled: AbortController | undefined
  const run = (): Promise<ReconcileReport> => {
    if (running && !stop.signal.aborted) return running
    stop = new AbortController()
    const { signal } = stop
    // A run that was stopped may still be ending: never two at a time.
    const ended = Promise.resolve(running).catch(() => {})
    const work = ended
      .then(() => runOnce(signal))
      .finally(() => {
        if (running === work) running = undefined
      })
    running = work
    return work
  }
  const loop = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      await run().catch((error: unknown) => {
        if (!signal.aborted) onError(error)
      })
      // A schedule alone keeps no process alive.
      await sleep(every, signal, { ref: false }).catch(() => {})
    }
  }
  return {
    run,
    start() {
      if (scheduled) return
      scheduled = new AbortController()
      void loop(scheduled.signal)
    },
    async stop() {
      const reason = new DOMException('the reconciler was stopped', 'AbortError')
      scheduled?.abort(reason)
      scheduled = undefined
      stop.abort(reason)
      await running?.catch(() => {})
    },
  }
}

function inMemory(): WatermarkStore {
  const kept: Watermark[] = []
  return { read: () => kept[0], write: (watermark) => void kept.splice(0, 1, watermark) }
}

function warnFailure(error: unknown): void {
  const what = isApiError(error) ? error.code : describeError(error)
  // The text of an error that the client did not make may hold data.
  const more = isWebhookError(error) ? '' : '; pass onError to see the error'
  warn(`a run of reconcile failed: ${what}${more}`, 'RECONCILE_FAILED')
}

function warnUnreadable(): (report: ReconcileReport) => void {
  const once = warnOnce()
  return ({ unreadable: { count, records } }) => {
    const [first] = records
    if (!first) return
    const shown = `${first.type} ${printable(first.id).slice(0, 100)}`
    const message = `a run of reconcile is not complete: times or ids of ${count} records cannot be read, the first is ${shown}. The watermark stays until they can be read; once it is older than the inbox remembers, events are taken again`
    once(message, 'RECONCILE_FAILED', 'unreadable')
  }
}
