// The handlers that wait for something, so that a drain can abort them.
import { Bag, type Placed } from '../foundation/bag.ts'

/** A handler that gave a promise which has not ended. */
export interface RunningHandler extends Placed {
  /** One that has run for `timeout` milliseconds has timed out. */
  abort(reason: unknown, timeout: number): void
}

/** The handlers that run at a time, so that a drain can abort them together. */
export class RunningHandlers {
  readonly #running = new Bag<RunningHandler>()
  #reason: unknown
  #timeout = Number.POSITIVE_INFINITY

  /** Why they were aborted; undefined while they may run. */
  get reason(): unknown {
    return this.#reason
  }

  /** Whether a drain ends them by their time, so that what failed meanwhile counts. */
  get isTimed(): boolean {
    return this.#timeout !== Number.POSITIVE_INFINITY
  }

  add(run: RunningHandler): void {
    if (this.#reason !== undefined) run.abort(this.#reason, this.#timeout)
    else this.#running.add(run)
  }

  delete(run: RunningHandler): void {
    this.#running.delete(run)
  }

  /** Aborts those that run, and all that are still to come. */
  abort(reason: unknown, timeout = Number.POSITIVE_INFINITY): void {
    this.#reason = reason
    this.#timeout = timeout
    for (const run of this.#running.all()) run.abort(reason, timeout)
    this.#running.clear()
  }
}
