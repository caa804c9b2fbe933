// How often an API that gives keys one by one is asked for ids that are unknown. Made-up ids cost it
// little, and keep nobody from the key that signs: what is spent comes back bit by bit, so that no
// stranger takes all of it at the beginning of a period.
import { shareNameOf } from './addresses.ts'

/** Requests in one cooldown, and of these for one address. */
const most = 60
const mostOfOne = 20

class Bucket {
  readonly #size: number
  readonly #cooldown: number
  #left: number
  #at: number

  constructor(size: number, cooldown: number, at: number) {
    this.#size = size
    this.#cooldown = cooldown
    this.#left = size
    this.#at = at
  }

  /** Also where the clock went back, so that nothing waits until it has caught up. */
  #refill(at: number): void {
    const age = at - this.#at
    const isOver = age < 0 || age >= this.#cooldown
    const back = isOver ? this.#size : (this.#size * age) / this.#cooldown
    this.#left = Math.min(this.#size, this.#left + back)
    this.#at = at
  }

  has(at: number): boolean {
    this.#refill(at)
    return this.#left >= 1
  }

  isFull(at: number): boolean {
    this.#refill(at)
    return this.#left === this.#size
  }

  take(): void {
    this.#left -= 1
  }
}

/** The budget of unknown key ids. */
export class KeyLoads {
  readonly #cooldown: number
  readonly #all: Bucket
  /** Of the addresses that have spent something. */
  readonly #shares = new Map<string, Bucket>()

  constructor(cooldown: number, at: number) {
    this.#cooldown = cooldown
    this.#all = new Bucket(most, cooldown, at)
  }

  /** Whether an unknown id may be asked for; counts it. */
  take(address: string | undefined, at: number): boolean {
    for (const [name, share] of this.#shares) if (share.isFull(at)) this.#shares.delete(name)
    const own = shareNameOf(address)
    const share = own === undefined ? undefined : this.#shareOf(own, at)
    if (!this.#all.has(at) || share?.has(at) === false) return false
    this.#all.take()
    share?.take()
    return true
  }

  #shareOf(name: string, at: number): Bucket {
    const share = this.#shares.get(name) ?? new Bucket(mostOfOne, this.#cooldown, at)
    this.#shares.set(name, share)
    return share
  }
}
