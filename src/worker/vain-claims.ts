// When a run that drains once is over: a claim that finds nothing may have looked at some tenants
// only, and lanes of others may be locked for a moment.
import type { Clock } from '../foundation/clock.ts'

/** So many claims in a row may find nothing, though something is due. */
const most = 100

/** The claims of one run. */
export class VainClaims {
  readonly #now: Clock
  #inARow = 0

  constructor(now: Clock) {
    this.#now = now
  }

  /** Whether to claim again after one that found so many; `next` is when the next lane is due. */
  goesOn(found: number, next = Number.POSITIVE_INFINITY): boolean {
    this.#inARow = found > 0 ? 0 : this.#inARow + 1
    return found > 0 || (next <= this.#now().getTime() && this.#inARow <= most)
  }
}
