// The sandbox's time: it runs, stands still, is set or advanced. What falls due happens in the
// order of time, each task to its end before the next.
import { longestTimer } from '../../src/foundation/check.ts'
import type { Clock } from '../../src/foundation/clock.ts'
import { checked } from './exchange.ts'
import { invalidFields } from './http-error.ts'
import { advanceBody, isSandboxTime, timeBoundsText } from './schemas/control.ts'
import type { Snapshot } from './schemas/snapshot.ts'

export interface VirtualClockOptions {
  readonly source: Clock
  /** The time at which it stands still from the start. */
  readonly frozenAt?: Date | undefined
  readonly onChange: () => void
}

type ClockTask = { readonly at: number; readonly run: () => void }

export class VirtualClock {
  readonly #source: Clock
  readonly #onChange: () => void
  /** Sorted by time; tasks of one time stay in the order in which they were scheduled. */
  #tasks: ClockTask[] = []
  #frozen: number | undefined
  #offset = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #settle = async () => {}
  #moving: Promise<void> = Promise.resolve()
  /** Counts the states that were loaded: work that began in one state moves nothing in the next. */
  #age = 0

  constructor({ source, frozenAt, onChange }: VirtualClockOptions) {
    this.#source = source
    this.#frozen = frozenAt?.getTime()
    this.#onChange = onChange
  }

  now(): Date {
    return new Date(this.#time())
  }

  get frozen(): boolean {
    return this.#frozen !== undefined
  }

  /** Stops the clock. */
  freeze(): void {
    this.#frozen = this.#time()
    this.#arm()
    this.#onChange()
  }

  /** Lets the clock run on from its present time. */
  unfreeze(): void {
    if (this.#frozen === undefined) return
    const at = this.#frozen
    this.#frozen = undefined
    this.#place(at)
    this.#arm()
    this.#onChange()
  }

  /**
   * Moves to a time; what falls due on the way happens in the order of time. A reset or a restore
   * in the meantime ends the move.
   *
   * @throws WebhookError `OPTION_INVALID`
   */
  async set(date: Date | string): Promise<void> {
    const time = new Date(date).getTime()
    const message = 'must be a Date or an ISO 8601 string'
    if (Number.isNaN(time)) throw invalidFields([{ field: '', message }])
    return this.#inTurn(() => time, 'now')
  }

  /** Moves on, as `set` does. */
  async advance(by: { readonly seconds?: number; readonly days?: number }): Promise<void> {
    const { seconds = 0, days = 0 } = checked(advanceBody, by, 'argument')
    const target = () => this.#time() + (seconds + days * 86_400) * 1000
    return this.#inTurn(target, days > 0 ? 'days' : 'seconds')
  }

  schedule(at: Date, run: () => void): () => void {
    const task = { at: at.getTime(), run }
    const place = this.#tasks.findLastIndex((one) => one.at <= task.at) + 1
    this.#tasks.splice(place, 0, task)
    if (place === 0) this.#arm()
    return () => {
      this.#tasks = this.#tasks.filter((one) => one !== task)
    }
  }

  /** `settle` is awaited after each task that fell due while the clock was moved. */
  settleWith(settle: () => Promise<void>): void {
    this.#settle = settle
  }

  dump(): Snapshot['clock'] {
    return { now: this.now().toISOString(), frozen: this.frozen, offset: this.#offset }
  }

  /** Ends every move that is under way. */
  load(saved: Snapshot['clock']): void {
    this.#age++
    this.#tasks = []
    this.#frozen = saved.frozen ? Date.parse(saved.now) : undefined
    this.#offset = saved.offset
    this.#arm()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#tasks = []
  }

  #time(): number {
    return this.#frozen ?? this.#source().getTime() + this.#offset
  }

  #place(at: number): void {
    if (this.#frozen === undefined) this.#offset = at - this.#source().getTime()
    else this.#frozen = at
  }

  #take(until: number): ClockTask | undefined {
    const [first] = this.#tasks
    return first && first.at <= until ? this.#tasks.shift() : undefined
  }

  /** Sets the real timer for the earliest task while the clock runs. */
  #arm(): void {
    clearTimeout(this.#timer)
    const first = this.frozen ? undefined : this.#tasks[0]
    if (!first) return
    const wait = Math.min(Math.max(first.at - this.#time(), 0), longestTimer)
    this.#timer = setTimeout(() => this.#fire(), wait)
    // A sandbox inside a test must not hold the process for a retry of tomorrow.
    this.#timer.unref()
  }

  #fire(): void {
    for (let task = this.#take(this.#time()); task; task = this.#take(this.#time())) task.run()
    this.#arm()
  }

  /** Runs concurrent moves one after another; a load ends them all. */
  #inTurn(target: () => number, field: string): Promise<void> {
    const age = this.#age
    const move = async () => {
      if (age === this.#age) await this.#moveTo(target, field)
    }
    this.#moving = this.#moving.then(move, move).finally(this.#onChange)
    return this.#moving
  }

  async #moveTo(target: () => number, field: string): Promise<void> {
    const age = this.#age
    // Work that is already due runs at its due time.
    await this.#settle()
    const until = target()
    if (!isSandboxTime(until)) throw invalidFields([{ field, message: timeBoundsText }])
    while (age === this.#age) {
      const task = this.#take(until)
      if (!task) {
        this.#place(until)
        return this.#arm()
      }
      // Time never goes back for a task that was late already.
      if (task.at > this.#time()) this.#place(task.at)
      task.run()
      await this.#settle()
    }
  }
}
