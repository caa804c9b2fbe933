// This process among those that share the store: its number, and its signs of life.
import { randomInt } from 'node:crypto'
import { type Statements, statementError } from './statements.ts'
import { StoreClock } from './store-clock.ts'

/** Milliseconds between signs of life. */
const beatEvery = 2_000
/** A longer silence of all is an outage: it counts against nobody. */
const longestGap = 3 * beatEvery
/** Milliseconds of silence, while others are heard, after which an owner is taken for gone. */
export const grace = 12_000
const samples = 5

/** The owner of the leases that this process takes. */
export class Owner {
  readonly id = randomInt(1, 2 ** 31 - 1)
  readonly clock = new StoreClock()
  readonly #statements: Statements
  #watches = false
  #timer: ReturnType<typeof setInterval> | undefined
  #isBeating = false

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** Enters itself and learns the database's time. */
  async enter(): Promise<void> {
    for (let sample = 0; sample < samples; sample++) await this.#beat()
    this.#timer = setInterval(() => void this.#tryBeat(), beatEvery)
    this.#timer.unref?.()
  }

  /**
   * From now on it counts who else is heard. Who has nothing to take over, because it only receives or
   * looks on, may be heard while those who work are cut off.
   */
  async watch(): Promise<void> {
    if (this.#watches) return
    this.#watches = true
    await this.#beat()
  }

  /** Learns the time once more where this process may have been frozen. */
  async refresh(): Promise<void> {
    if (this.clock.isDoubtful) await this.#beat()
  }

  /** From now on its leases lapse at once; where that cannot be said they lapse by its silence. */
  async leave(limit: number): Promise<void> {
    clearInterval(this.#timer)
    const left = this.#statements.call('leave', [this.id], limit)
    await left.catch(() => {})
  }

  async #beat(): Promise<void> {
    await this.clock.measure(async () => {
      const values = [this.id, this.#watches ? longestGap : null]
      const now = Number(await this.#statements.ask('beat', values))
      if (!Number.isFinite(now)) throw statementError('STORE_FAILED', 'the time could not be read')
      return now
    })
  }

  async #tryBeat(): Promise<void> {
    if (this.#isBeating) return
    this.#isBeating = true
    // A sign that fails is a silence: others judge it by its length.
    await this.#beat().catch(() => {})
    this.#isBeating = false
  }
}
