// One process of those on the store: its number, its heartbeat, and the database's time, so that
// processes whose clocks differ agree on what is due and which lease has expired.
import { randomInt } from 'node:crypto'
import type { Clock } from '../../../foundation/clock.ts'
import { type Statements, statementError } from './statements.ts'

const beatEvery = 2_000
/** A longer silence of all owners is an outage, and counts against none of them. */
const maxGap = 3 * beatEvery
/** Milliseconds until a silent owner counts as gone, if other owners were active meanwhile. */
export const grace = 12_000
const openingSamples = 5

const timeSql = `select (extract(epoch from clock_timestamp())::float8 * 1000::float8)::bigint as now`

export class Owner {
  /** A number for each opening: leases of an earlier opening have expired. */
  id = 0
  clock = new StoreClock()
  readonly #statements: Statements
  readonly #isSilent: boolean
  #watches = false
  #timer: ReturnType<typeof setInterval> | undefined
  #isBeating = false

  /** A silent owner claims nothing and gives no signs of life: it only reads the time. */
  constructor(statements: Statements, { isSilent }: { readonly isSilent: boolean }) {
    this.#statements = statements
    this.#isSilent = isSilent
  }

  async enter(): Promise<void> {
    this.id = randomInt(1, 2 ** 31 - 1)
    this.clock = new StoreClock()
    this.#watches = false
    for (let sample = 0; sample < openingSamples; sample++) await this.#beat()
    this.#timer = setInterval(() => void this.#tryBeat(), beatEvery)
    this.#timer.unref?.()
  }

  /** Records which other owners are active; only workers may: others are not cut off with them. */
  async watch(): Promise<void> {
    if (this.#watches || this.#isSilent) return
    this.#watches = true
    await this.#beat()
  }

  /** Reads the time again if this process may have been frozen. */
  readonly refresh = async (): Promise<void> => {
    if (this.clock.isDoubtful) await this.#beat()
  }

  /** Lets its leases lapse at once; if the server does not answer, they lapse by its silence. */
  async leave(limit: number): Promise<void> {
    clearInterval(this.#timer)
    if (this.#isSilent) return
    await this.#statements.call('leave', [this.id], limit).catch(() => {})
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
    return this.#statements.ask('beat', [this.id, this.#watches ? maxGap : null])
  }

  async #tryBeat(): Promise<void> {
    if (this.#isBeating) return
    this.#isBeating = true
    // A failed sign of life is a silence, which the other owners judge by its length.
    await this.#beat().catch(() => {})
    this.#isBeating = false
  }
}

interface Sample {
  readonly offset: number
  /** The round trip: half of it is the most that the offset can be wrong. */
  readonly trip: number
}

const maxSamples = 30
/** A larger difference means that a clock was set, or that another server has taken over. */
const step = 1_000
/** Milliseconds by which two clocks may come apart while the samples are taken. */
const drift = 50

/** Milliseconds that the system's clock is ahead of the steady clock, which stops in a freeze. */
const steadyLag = () => Date.now() - (performance.timeOrigin + performance.now())

/** Follows the database's clock by the times that come with answers. */
export class StoreClock {
  readonly #local: () => number
  readonly #lag: () => number
  #samples: Sample[] = []
  #lagThen: number
  #last = 0

  constructor(local = () => performance.timeOrigin + performance.now(), lag = steadyLag) {
    this.#local = local
    this.#lag = lag
    this.#lagThen = lag()
  }

  /** True if this process may have been frozen, or a clock was set, since the last answer. */
  get isDoubtful(): boolean {
    return Math.abs(this.#lag() - this.#lagThen) > step
  }

  async measure(ask: () => Promise<number>): Promise<void> {
    const asked = this.#local()
    const lag = this.#lag()
    const time = await ask()
    this.#lagThen = lag
    const trip = this.#local() - asked
    const offset = time - (asked + trip / 2)
    const best = this.#best()
    // A sample is wrong by half of its trip at most. Otherwise a clock was set, or the process froze.
    const differs = best && Math.abs(offset - best.offset) > (trip + best.trip) / 2 + drift
    if (differs) this.#samples = []
    this.#samples = [{ offset, trip }, ...this.#samples].slice(0, maxSamples)
  }

  /** Never goes back, except for a step of the database's clock. */
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
