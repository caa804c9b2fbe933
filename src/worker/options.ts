// The options of a worker, checked when it is created, and the process signals that it can obey.

import { checkChoice, checkOptionNames } from '../check.ts'
import { WebhookError } from '../errors.ts'

/** Options of `createWorker`. */
export interface WorkerOptions {
  /** Entries at a time; each entity still has one at a time. Default 16. */
  readonly concurrency?: number
  /** Milliseconds for handlers at work when the worker drains; default 10,000. */
  readonly grace?: number
  /**
   * Signals at which the process drains and exits with 0, e.g. `['SIGTERM', 'SIGINT']`: no new
   * deliveries (503), no new claims, requests and handlers end, the store is closed.
   */
  readonly signals?: readonly ('SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT')[]
  /** `observe` is told when nothing came for so many times the median gap; default 10. */
  readonly silence?: number
}

/** Bounds of `drainOnce`. */
export interface DrainOnceOptions {
  /** The most entries. */
  readonly limit?: number
  /** Milliseconds after which nothing more is claimed, and nothing more erased. */
  readonly timeout?: number
}

interface ProcessLike {
  once(signal: string, listener: () => void): unknown
  off(signal: string, listener: () => void): unknown
  exit(code: number): void
}

const names: readonly (keyof WorkerOptions)[] = ['concurrency', 'grace', 'signals', 'silence']
const signalNames = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const

/** @throws WebhookError `OPTION_INVALID` */
export function checkedWorkerOptions(options: WorkerOptions) {
  checkOptionNames('createWorker', options, names)
  const { concurrency = 16, grace = 10_000, silence = 10, signals = [] } = options
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 10_000) {
    throw refusal(`concurrency is ${String(concurrency)}: give a whole number from 1 to 10000`)
  }
  checkGrace(grace)
  if (!Array.isArray(signals)) throw refusal("signals is no list: give e.g. ['SIGTERM', 'SIGINT']")
  for (const signal of signals) checkChoice('signals', signal, signalNames)
  if (!(silence > 1)) throw refusal(`silence is ${String(silence)}: give a factor above 1`)
  return { concurrency, grace, silence, onSignal: signalsOf(signals) }
}

/** A day: with the store's time to answer it still fits into one timer. */
const longestGrace = 86_400_000

/** @throws WebhookError `OPTION_INVALID` */
export function checkGrace(grace: number): void {
  if (Number.isInteger(grace) && grace >= 0 && grace <= longestGrace) return
  throw refusal(`grace is ${String(grace)}: give whole milliseconds from 0 to ${longestGrace}`)
}

/** @throws WebhookError `OPTION_INVALID` */
export function checkedBounds(options: DrainOnceOptions): Required<DrainOnceOptions> {
  checkOptionNames('drainOnce', options, ['limit', 'timeout'])
  const { limit = Number.POSITIVE_INFINITY, timeout = Number.POSITIVE_INFINITY } = options
  for (const [name, value] of Object.entries({ limit, timeout })) {
    if (typeof value === 'number' && value >= 0) continue
    throw refusal(`drainOnce: ${name} is ${String(value)}: give a number from 0, or leave it out`)
  }
  return { limit, timeout }
}

/** Drains at the first signal; a second one ends the process at once, as ever. */
function signalsOf(signals: readonly string[]) {
  return (end: () => Promise<void>): (() => void) => {
    if (signals.length === 0) return () => {}
    const { process } = globalThis as { process?: ProcessLike }
    if (!process) throw refusal('signals needs a process: there is none on this runtime')
    const obey = () => {
      // What the last replies wrote must leave before the process does.
      end().then(
        () => setTimeout(() => process.exit(0), 20),
        () => process.exit(1),
      )
    }
    for (const signal of signals) process.once(signal, obey)
    return () => {
      for (const signal of signals) process.off(signal, obey)
    }
  }
}

function refusal(message: string): WebhookError {
  return new WebhookError('OPTION_INVALID', message)
}
