// When a worker erases what is past its retention: at most once an hour, and no longer than a drain
// or the caller's bounds allow.
import { stopwatch } from '../foundation/clock.ts'
import type { FailedRequest, WorkSource } from '../inbox/work.ts'

export const hour = 60 * 60 * 1000

/**
 * Milliseconds for a sweep at the end of a run. Where time is short somebody may wait for the answer:
 * a backlog is then erased bit by bit, for as long as the work took or a second.
 */
export function sweepTime(timeout: number, spent: number): number {
  const most = Number.isFinite(timeout) ? Math.max(1000, spent) : timeout
  return Math.min(timeout - spent, most)
}

/** Until when a sweep goes on; it stops between two pages. */
export interface SweepBounds {
  /** Aborted when the worker drains. */
  readonly signal: AbortSignal
  /** Milliseconds from now. */
  readonly timeout?: number | undefined
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

  /** Hosts that run by a schedule ask after every delivery; a sweep that was cut short goes on then. */
  async sweep({ signal, timeout = Number.POSITIVE_INFINITY }: SweepBounds): Promise<void> {
    if (this.#isSweeping) return
    this.#isSweeping = true
    const began = performance.now()
    try {
      const start = this.#now()
      const age = start - (this.#doneAt ?? Number.NEGATIVE_INFINITY)
      if (age >= 0 && age < hour * 0.9) return
      const elapsed = stopwatch(this.#inbox.now)
      const goesOn = () => !signal.aborted && elapsed() < timeout
      if (await this.#inbox.purgeWhile(goesOn)) this.#doneAt = start
    } catch (error) {
      this.#failed({ asked: 'purge', error, began })
    } finally {
      this.#isSweeping = false
    }
  }

  #now(): number {
    return this.#inbox.now().getTime()
  }
}
