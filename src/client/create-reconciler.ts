// Runs reconcile again and again, one run at a time, each from where the last whole one ended.
import { systemClock } from '../clock.ts'
import { WebhookError } from '../errors.ts'
import { warn } from '../warn.ts'
import { isApiError } from './api-error.ts'
import { reconcile } from './reconcile.ts'
import type { ReconcileReport } from './reconcile-report.ts'
import { checkReconcile, type ReconcileOptions } from './reconcile-run.ts'
import type { Watermark, WatermarkStore } from './watermark.ts'

/** Options of `createReconciler`. */
export interface ReconcilerOptions extends Omit<ReconcileOptions, 'until' | 'signal' | 'dryRun'> {
  /** Milliseconds from the end of a run to the next; 15 minutes by default. */
  readonly every?: number
  /** Milliseconds that a delivery may take before its event counts as missing; 2 minutes. */
  readonly grace?: number
  /** Sees the report of every run, e.g. to raise an alarm over its gap. */
  readonly onReport?: (report: ReconcileReport) => void
  /** Sees why a run of the schedule failed; by default a process warning. The next run comes all the same. */
  readonly onError?: (error: unknown) => void
}

/** Reconciles on a schedule. */
export interface Reconciler {
  /** The first run begins at once. */
  start(): void
  /** A run now, or the one that is under way. */
  run(): Promise<ReconcileReport>
  /** Ends the run that is under way, without harm, and the schedule; it can be started again. */
  stop(): Promise<void>
}

/**
 * Creates a schedule of runs. Without a `watermark` store it remembers its own while it lives.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`
 * @example
 * const reconciler = createReconciler({ client, receiver, since: new Date(), watermark })
 * reconciler.start()
 */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { every = 15 * 60_000, grace = 2 * 60_000, onReport, onError = warnFailure } = options
  checkMilliseconds('every', every, 1)
  checkMilliseconds('grace', grace, 0)
  checkReconcile(options)
  const { now = systemClock } = options
  const watermark = options.watermark ?? remembered()
  let running: Running | undefined
  let schedule: AbortController | undefined

  const begin = async (signal: AbortSignal, before: Running | undefined) => {
    // One that was stopped may still be ending: never two at a time.
    await before?.work.catch(() => {})
    const until = new Date(now().getTime() - grace)
    const report = await reconcile({ ...options, watermark, until, signal })
    guarded('onReport', () => onReport?.(report))
    return report
  }
  const run = (): Promise<ReconcileReport> => {
    if (running && !running.stop.signal.aborted) return running.work
    const stop = new AbortController()
    const work = begin(stop.signal, running).finally(() => {
      if (running?.stop === stop) running = undefined
    })
    running = { stop, work }
    return work
  }
  const loop = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      try {
        await run()
      } catch (error) {
        if (!signal.aborted) guarded('onError', () => onError(error))
      }
      await pause(every, signal)
    }
  }

  return {
    run,
    start() {
      if (schedule) return
      schedule = new AbortController()
      void loop(schedule.signal)
    },
    async stop() {
      const reason = new DOMException('the reconciler was stopped', 'AbortError')
      schedule?.abort(reason)
      schedule = undefined
      running?.stop.abort(reason)
      await running?.work.catch(() => {})
    },
  }
}

/** A run under way, and what ends it. */
interface Running {
  readonly stop: AbortController
  readonly work: Promise<ReconcileReport>
}

/** Between two runs; a schedule alone keeps no process alive. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    ;(timer as { unref?: () => void }).unref?.()
    signal.addEventListener('abort', end)
  })
}

/** What an observer throws, now or later, must not end the schedule, or the process. */
function guarded(name: string, observe: () => unknown): void {
  const failed = (error: unknown) => {
    const what = error instanceof Error ? error.name : typeof error
    warn(`the reconciler's ${name} threw ${what}`, 'IDV_OBSERVE_FAILED')
  }
  try {
    Promise.resolve(observe()).catch(failed)
  } catch (error) {
    failed(error)
  }
}

function remembered(): WatermarkStore {
  let kept: Watermark | undefined
  return {
    read: () => kept,
    write(watermark) {
      kept = watermark
    },
  }
}

function checkMilliseconds(name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least && value < 2 ** 31) return
  throw new WebhookError('OPTION_INVALID', `${name} is ${String(value)}: give milliseconds`)
}

function warnFailure(error: unknown): void {
  const what = isApiError(error) ? error.code : error instanceof Error ? error.name : typeof error
  warn(
    `a run of reconcile failed (${what}); see it with the onError option`,
    'IDV_RECONCILE_FAILED',
  )
}
