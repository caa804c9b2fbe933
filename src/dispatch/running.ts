// The handlers that wait for something, so that a drain can abort them.
import { Bag, type Placed } from '../foundation/bag.ts'

/** A handler that gave a promise which has not ended. */
export interface RunningHandler extends Placed {
  abort(reason: unknown): void
}

/** The handlers that run at a time, so that a drain can abort them together. */
export class RunningHandlers {
  readonly #running = new Bag<RunningHandler>()
  #reason: unknown

  /** Why they were aborted; undefined while they may run. */
  get reason(): unknown {
    return this.#reason
  }

  add(run: RunningHandler): void {
    if (this.#reason !== undefined) run.abort(this.#reason)
    else this.#running.add(run)
  }

  delete(run: RunningHandler): void {
    this.#running.delete(run)
  }

  /** Aborts those that run, and all that are still to come. */
  abort(reason: unknown): void {
    this.#reason = reason
    for (const run of this.#running.all()) run.abort(reason)
    this.#running.clear()
  }
}
