// When a worker erases what is past its retention: at most once an hour, and no longer than a drain
// or whoever asked lets it.
import type { WorkSource } from '../inbox/work.ts'

export const hour = 60 * 60 * 1000

/** Until when a purge goes on; it stops between two pages. */
export interface PurgeBounds {
  /** Aborted when the worker drains. */
  readonly signal: AbortSignal
  /** Milliseconds from now. */
  readonly timeout?: number
}

/** The purges of one worker. */
export class Purging {
  readonly #inbox: WorkSource
  readonly #trouble: (asked: string, error: unknown) => void
  #doneAt: number | undefined
  #isAtIt = false

  constructor(inbox: WorkSource, trouble: (asked: string, error: unknown) => void) {
    this.#inbox = inbox
    this.#trouble = trouble
  }

  /** Hosts that drain by a schedule ask after every delivery; one that was cut short goes on then. */
  async run({ signal, timeout = Number.POSITIVE_INFINITY }: PurgeBounds): Promise<void> {
    const start = this.#now()
    const age = start - (this.#doneAt ?? Number.NEGATIVE_INFINITY)
    if (this.#isAtIt || (age >= 0 && age < hour * 0.9)) return
    this.#isAtIt = true
    try {
      const goesOn = () => !signal.aborted && this.#now() - start < timeout
      if (await this.#inbox.purgeWhile(goesOn)) this.#doneAt = start
    } catch (error) {
      this.#trouble('purge', error)
    } finally {
      this.#isAtIt = false
    }
  }

  #now(): number {
    return this.#inbox.now().getTime()
  }
}
