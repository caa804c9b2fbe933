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

/** Follows the database's clock by the times that come with answers. */
export class StoreClock {
  readonly #local: () => number
  #samples: Sample[] = []
  #last = 0

  constructor(local: () => number = () => performance.timeOrigin + performance.now()) {
    this.#local = local
  }

  /** Asks for the time; the answer counts for as much as it was quick. */
  async measure(ask: () => Promise<number>): Promise<void> {
    const asked = this.#local()
    const time = await ask()
    const trip = this.#local() - asked
    const offset = time - (asked + trip / 2)
    const [newest] = this.#samples
    if (newest && Math.abs(offset - newest.offset) > step + trip + newest.trip) this.#samples = []
    this.#samples = [{ offset, trip }, ...this.#samples].slice(0, kept)
  }

  /** Never goes back, but for a step that the database's clock has made. */
  readonly now: Clock = () => {
    const best = this.#samples.reduce<Sample | undefined>(
      (one, other) => (one && one.trip <= other.trip ? one : other),
      undefined,
    )
    const time = this.#local() + (best?.offset ?? 0)
    this.#last = this.#last - time > step ? time : Math.max(time, this.#last)
    return new Date(this.#last)
  }
}
