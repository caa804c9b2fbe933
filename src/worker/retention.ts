// When a worker erases what is past its retention: at most once an hour, and no longer than a drain
// or the caller's bounds allow.
import { stopwatch } from '../foundation/clock.ts'
import type { FailedRequest, WorkSource } from '../inbox/work.ts'

export const hour = 60 * 60 * 1000

/** Until when a sweep goes on; it stops between two pages. */
export interface SweepBounds {
  /** Aborted when the worker drains. */
  readonly signal: AbortSignal
  readonly goesOn?: (() => boolean) | undefined
}

/**
 * The sweep of a run. Beside the work it goes on for a tenth of the run's time: work that fills each
 * run would leave none. Once that is over somebody may wait for the answer: a backlog is then erased
 * bit by bit, for as long as the work took or a second.
 */
export function sweepOfRun(timeout: number, now: () => Date) {
  const elapsed = stopwatch(now)
  let until = timeout / 10
  return {
    elapsed,
    goesOn: () => elapsed() < until,
    endWork: () => {
      const spent = elapsed()
      const most = Number.isFinite(timeout) ? Math.max(1000, spent) : timeout
      until = spent + Math.min(timeout - spent, most)
    },
  }
}

/** The retention sweeps of one worker. */
export class Retention {
  readonly #inbox: WorkSource
  readonly #failed: (failed: FailedRequest) => void
  #doneAt: number | undefined
  #isSweeping = false

  constructor(inbox: WorkSource, failed: (failed: FailedRequest) => void) {
    this.#inbox = inbox
    this.#failed = failed
  }

  /**
   * Hosts that run by a schedule ask after every delivery; a sweep that was cut short goes on then.
   * Resolves with whether it was.
   */
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
