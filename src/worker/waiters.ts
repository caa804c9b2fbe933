// Claims that wait for a place: each place that is free wakes one of them.
import { deferred } from '../foundation/promises.ts'

/** A host may drop the one that is woken, with its request: the others look after so long. */
const longestWait = 1_000

export class Waiters {
  readonly #wakes = new Set<() => void>()

  /** Ends after so many milliseconds at most, woken or not. */
  async wait(left: number): Promise<void> {
    const { promise, resolve } = deferred<void>()
    const timer = setTimeout(resolve, Math.min(left, longestWait))
    this.#wakes.add(resolve)
    await promise
    this.#wakes.delete(resolve)
    clearTimeout(timer)
  }

  wakeOne(): void {
    const [wake] = this.#wakes
    if (!wake) return
    this.#wakes.delete(wake)
    wake()
  }

  wakeAll(): void {
    for (const wake of this.#wakes) wake()
  }
}
