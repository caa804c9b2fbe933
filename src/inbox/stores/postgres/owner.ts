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

const timeSql = `select (extract(epoch from clock_timestamp())::float8 * 1000::float8)::bigint as now`

/** The owner of the leases that this process takes. */
export class Owner {
  readonly id = randomInt(1, 2 ** 31 - 1)
  readonly clock = new StoreClock()
  readonly #statements: Statements
  readonly #isSilent: boolean
  #watches = false
  #timer: ReturnType<typeof setInterval> | undefined
  #isBeating = false

  /** Who is silent takes nothing and gives no signs of life: it learns the time, for which reading is enough. */
  constructor(statements: Statements, { isSilent }: { readonly isSilent: boolean }) {
    this.#statements = statements
    this.#isSilent = isSilent
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
    if (this.#isSilent) return
    const left = this.#statements.call('leave', [this.id], limit)
    await left.catch(() => {})
  }

  async #beat(): Promise<void> {
    await this.clock.measure(async () => {
      const now = Number(await this.#time())
      if (!Number.isFinite(now)) throw statementError('STORE_FAILED', 'the time could not be read')
      return now
    })
  }

  async #time(): Promise<unknown> {
    if (this.#isSilent) return (await this.#statements.first(timeSql)).now
    return this.#statements.ask('beat', [this.id, this.#watches ? longestGap : null])
  }

  async #tryBeat(): Promise<void> {
    if (this.#isBeating) return
    this.#isBeating = true
    // A sign that fails is a silence: others judge it by its length.
    await this.#beat().catch(() => {})
    this.#isBeating = false
  }
}
