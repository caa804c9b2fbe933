// Which verification expires next: a list in the order of time, with one task on the clock for its
// head, so that 100,000 open verifications cost one timer.
import type { VirtualClock } from './clock.ts'

export interface Expiry {
  readonly at: number
  readonly id: string
}

export class Expiries {
  readonly #clock: VirtualClock
  readonly #expire: (id: string) => void
  /** In the order of time; those before `#head` are over. */
  #list: Expiry[] = []
  #head = 0
  #cancel: (() => void) | undefined

  /** `expire` is called for each at its time; it must ignore those that can no longer expire. */
  constructor(clock: VirtualClock, expire: (id: string) => void) {
    this.#clock = clock
    this.#expire = expire
  }

  add(expiry: Expiry): void {
    let low = this.#head
    for (let high = this.#list.length; low < high; ) {
      const middle = (low + high) >> 1
      if ((this.#list[middle]?.at ?? 0) <= expiry.at) low = middle + 1
      else high = middle
    }
    this.#list.splice(low, 0, expiry)
    if (low === this.#head) this.#arm()
  }

  /** Replaces all. */
  load(expiries: readonly Expiry[]): void {
    this.#list = expiries.toSorted((one, other) => one.at - other.at)
    this.#head = 0
    this.#arm()
  }

  get #next(): Expiry | undefined {
    return this.#list[this.#head]
  }

  #arm(): void {
    this.#cancel?.()
    const next = this.#next
    this.#cancel = next && this.#clock.schedule(new Date(next.at), () => this.#fire())
  }

  #fire(): void {
    const now = this.#clock.now().getTime()
    for (let next = this.#next; next && next.at <= now; next = this.#next) {
      this.#head++
      this.#expire(next.id)
    }
    this.#list.splice(0, this.#head)
    this.#head = 0
    this.#arm()
  }
}
