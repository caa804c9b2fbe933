// Runs reconcile again and again, one run at a time, each from where the last whole one ended.
import { systemClock } from '../clock.ts'
import { WebhookError } from '../errors.ts'
import { warn } from '../warn.ts'
import { isApiError } from './api-error.ts'
import { type ReconcileOptions, reconcile } from './reconcile.ts'
import type { ReconcileReport } from './reconcile-report.ts'
import type { Watermark, WatermarkStore } from './watermark.ts'

/** Options of `createReconciler`. */
export interface ReconcilerOptions extends Omit<ReconcileOptions, 'until' | 'signal' | 'dryRun'> {
  /** Milliseconds from the end of a run to the next; 15 minutes by default. */
  readonly every?: number
  /** Milliseconds that a delivery may take before its event counts as missing; 2 minutes. */
  readonly grace?: number
  /** Sees every report, e.g. to raise an alarm over its gap. */
  readonly onReport?: (report: ReconcileReport) => void
  /** Sees why a run failed; by default a process warning. The next run comes all the same. */
  readonly onError?: (error: unknown) => void
}

/** Reconciles on a schedule. */
export interface Reconciler {
  /** The first run begins at once. */
  start(): void
  /** A run now, or the one that is under way. */
  run(): Promise<ReconcileReport>
  /** Ends the run that is under way, without harm, and begins no other. */
  stop(): Promise<void>
}

/**
 * Creates a schedule of runs. Without a `watermark` store it remembers its own while it lives.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example
 * const reconciler = createReconciler({ client, receiver, since: new Date(), watermark })
 * reconciler.start()
 */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { every = 15 * 60_000, grace = 2 * 60_000, onReport, onError = warnFailure } = options
  checkMilliseconds('every', every, 1)
  checkMilliseconds('grace', grace, 0)
  const { now = systemClock } = options
  const watermark = options.watermark ?? remembered()
  let stopping = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let running: Promise<ReconcileReport> | undefined

  const run = (): Promise<ReconcileReport> => {
    const until = new Date(now().getTime() - grace)
    const { signal } = stopping
    running ??= reconcile({ ...options, watermark, until, signal }).finally(() => {
      running = undefined
    })
    return running
  }
  const loop = async (signal: AbortSignal) => {
    try {
      const report = await run()
      onReport?.(report)
    } catch (error) {
      if (!signal.aborted) onError(error)
    }
    if (signal.aborted) return
    timer = setTimeout(() => void loop(signal), every)
    // A schedule alone keeps no process alive.
    ;(timer as { unref?: () => void }).unref?.()
  }

  return {
    run,
    start() {
      if (timer !== undefined || running) return
      stopping = new AbortController()
      void loop(stopping.signal)
    },
    async stop() {
      stopping.abort(new DOMException('the reconciler was stopped', 'AbortError'))
      clearTimeout(timer)
      timer = undefined
      await running?.catch(() => {})
      stopping = new AbortController()
    },
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
