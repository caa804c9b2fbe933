// The database's time in this process, so that processes whose clocks differ agree on what is due
// and which lease has lapsed.
import type { Clock } from '../../../foundation/clock.ts'

interface Sample {
  /** The database's time less ours. */
  readonly offset: number
  /** The round trip: half of it is the most that the offset can be wrong. */
  readonly trip: number
}

const kept = 30
/** Beyond this the database's clock was set, or another server has taken over. */
const step = 1_000
/** By so much two clocks may come apart while the samples are taken. */
const drift = 50

/** By how much the system's clock is ahead of the steady one, which may stand still in a freeze. */
const steadyLag = () => Date.now() - (performance.timeOrigin + performance.now())

/** Follows the database's clock by the times that come with answers. */
export class StoreClock {
  readonly #local: () => number
  readonly #lag: () => number
  #samples: Sample[] = []
  /** At the last answer. */
  #lagThen: number
  #last = 0

  constructor(local = () => performance.timeOrigin + performance.now(), lag = steadyLag) {
    this.#local = local
    this.#lag = lag
    this.#lagThen = lag()
  }

  /** Whether this process may have been frozen since the last answer, or a clock was set. */
  get isDoubtful(): boolean {
    return Math.abs(this.#lag() - this.#lagThen) > step
  }

  /** Asks for the time; the answer counts for as much as it was quick. */
  async measure(ask: () => Promise<number>): Promise<void> {
    const asked = this.#local()
    const lag = this.#lag()
    const time = await ask()
    this.#lagThen = lag
    const trip = this.#local() - asked
    const offset = time - (asked + trip / 2)
    const best = this.#best()
    // Each is wrong by half of its trip at most: a clock was set, or this process stood still.
    const differs = best && Math.abs(offset - best.offset) > (trip + best.trip) / 2 + drift
    if (differs) this.#samples = []
    this.#samples = [{ offset, trip }, ...this.#samples].slice(0, kept)
  }

  /** Never goes back, but for a step that the database's clock has made. */
  readonly now: Clock = () => {
    const time = this.#local() + (this.#best()?.offset ?? 0)
    this.#last = this.#last - time > step ? time : Math.max(time, this.#last)
    return new Date(this.#last)
  }

  #best(): Sample | undefined {
    return this.#samples.reduce<Sample | undefined>(
      (one, other) => (one && one.trip <= other.trip ? one : other),
      undefined,
    )
  }
}
