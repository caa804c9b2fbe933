// When a worker erases what is past its retention: at most once an hour, and no longer than a drain
// or the caller's bounds allow.
import { stopwatch } from '../foundation/clock.ts'
import type { DurableInbox } from '../inbox/inbox.ts'
import type { FailedRequest } from '../inbox/work.ts'

export const hour = 60 * 60 * 1000

/** The bounds of a sweep, which stops between two pages. */
export interface SweepBounds {
  /** Aborted when the worker drains. */
  readonly signal: AbortSignal
  readonly goesOn?: (() => boolean) | undefined
}

/**
 * The sweep of a run. Beside the work it takes a tenth of the run's time, because work may fill every
 * run. After the work a caller may wait: the sweep then takes as long as the work did, or a second.
 */
export function sweepOfRun(timeout: number, now: () => Date) {
  const elapsed = stopwatch(now)
  let until = timeout / 10
  return {
    elapsed,
    goesOn: () => elapsed() < until,
    endWork: () => {
      const spent = elapsed()
      const max = Number.isFinite(timeout) ? Math.max(1000, spent) : timeout
      until = spent + Math.min(timeout - spent, max)
    },
  }
}

/** The retention sweeps of one worker. */
export class Retention {
  readonly #inbox: DurableInbox
  readonly #failed: (failed: FailedRequest) => void
  #doneAt: number | undefined
  #isSweeping = false

  constructor(inbox: DurableInbox, failed: (failed: FailedRequest) => void) {
    this.#inbox = inbox
    this.#failed = failed
  }

  /** Sweeps at most once an hour, and goes on after a sweep that was cut short. True if it was cut. */
  async sweep({ signal, goesOn = () => true }: SweepBounds): Promise<boolean> {
    if (this.#isSweeping) return false
    this.#isSweeping = true
    const began = performance.now()
    try {
      const start = this.#now()
      const age = start - (this.#doneAt ?? Number.NEGATIVE_INFINITY)
      if (age >= 0 && age < hour * 0.9) return false
      const isInTime = () => !signal.aborted && goesOn()
      if (!isInTime() || !(await this.#inbox.purgeWhile(isInTime))) return true
      this.#doneAt = start
    } catch (error) {
      this.#failed({ asked: 'purge', error, began })
    } finally {
      this.#isSweeping = false
    }
    return false
  }

  #now(): number {
    return this.#inbox.now().getTime()
  }
}
