// The options of a worker, checked when it is created.

import {
  checkChoice,
  checkOptionNames,
  checkWholeNumber,
  invalid,
  shown,
} from '../foundation/check.ts'
import type { SettledAs } from '../inbox/work.ts'

/** Options of `createWorker`. */
export interface WorkerOptions {
  /**
   * Entries at a time; each entity still has one at a time.
   *
   * @default 16
   */
  readonly concurrency?: number
  /**
   * Milliseconds that running handlers get at a drain; a day at most.
   *
   * @default 10_000
   */
  readonly grace?: number
  /**
   * Signals at which the process drains and exits: `['SIGTERM', 'SIGINT']`.
   *
   * New deliveries get 503, nothing is claimed, requests and handlers end, the store is closed. The
   * worker listens from `start` to a drain, and during each `runOnce`.
   *
   * @default []
   */
  readonly signals?: readonly ('SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT')[]
  /**
   * Reports `silence` after this many median intervals without a delivery.
   *
   * @default 10
   */
  readonly silenceFactor?: number
}

/** Bounds of `runOnce`. */
export interface RunOnceOptions {
  /**
   * The most entries.
   *
   * @default Infinity
   */
  readonly limit?: number
  /**
   * Milliseconds after which the worker claims and erases nothing more.
   *
   * @default Infinity
   */
  readonly timeout?: number
  /**
   * Milliseconds after `timeout` until handlers are aborted.
   *
   * A handler that had at least half of the time has timed out, which counts an attempt; any other is
   * released, and begins again in a later run.
   *
   * @default Infinity
   */
  readonly grace?: number
}

/** The number of attempts by how they ended. */
export type RunOnceReport = Readonly<Record<SettledAs, number>>

const names: readonly (keyof WorkerOptions)[] = ['concurrency', 'grace', 'signals', 'silenceFactor']
const signalNames = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const

export function checkedWorkerOptions(options: WorkerOptions) {
  checkOptionNames('createWorker', options, names)
  const { concurrency = 16, grace = 10_000, silenceFactor = 10, signals = [] } = options
  checkWholeNumber('concurrency', concurrency, { most: 10_000 })
  checkGrace(grace)
  if (!Array.isArray(signals)) {
    throw invalid(`signals must be an array, e.g. ['SIGTERM', 'SIGINT'], got ${shown(signals)}`)
  }
  for (const signal of signals) checkChoice('signals', signal, signalNames)
  if (!(typeof silenceFactor === 'number' && silenceFactor > 1)) {
    throw invalid(`silenceFactor must be a number above 1, got ${shown(silenceFactor)}`)
  }
  return { concurrency, grace, silenceFactor, signals }
}

/** A day: with the store's time to answer it still fits into one timer. */
const longestGrace = 86_400_000

export function checkGrace(grace: unknown): void {
  checkWholeNumber('grace', grace, { least: 0, most: longestGrace, unit: 'milliseconds' })
}

export function checkedBounds(options: RunOnceOptions): Required<RunOnceOptions> {
  checkOptionNames('worker.runOnce', options, ['limit', 'timeout', 'grace'])
  const never = Number.POSITIVE_INFINITY
  const { limit = never, timeout = never, grace = never } = options
  for (const [name, value] of Object.entries({ limit, timeout, grace })) {
    if (typeof value === 'number' && value >= 0) continue
    throw invalid(`worker.runOnce: ${name} must be a number, 0 or more, got ${shown(value)}`)
  }
  return { limit, timeout, grace }
}
