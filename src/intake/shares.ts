// What each address holds of all bodies.
import { LinkedList } from '../foundation/linked-list.ts'
import type { Arrival } from './reading.ts'

/** So many addresses are known before those that hold nothing are looked for. */
const leastAddresses = 1_000

/** What one address holds. */
class Share {
  bytes = 0
  /** Its bodies that hold bytes and are not complete, by the time of their first byte. */
  readonly arriving = new LinkedList<Arrival>()
}

/** The shares of all addresses. Those that hold nothing stay for a while: most come back. */
export class Shares {
  readonly #shares = new Map<string, Share>()
  #mostAddresses = leastAddresses

  of(address: string): Share {
    const known = this.#shares.get(address)
    if (known) return known
    if (this.#shares.size >= this.#mostAddresses) this.#forgetIdle()
    const share = new Share()
    this.#shares.set(address, share)
    return share
  }

  #forgetIdle(): void {
    for (const [address, { bytes, arriving }] of this.#shares) {
      if (bytes === 0 && arriving.size === 0) this.#shares.delete(address)
    }
    this.#mostAddresses = Math.max(leastAddresses, 2 * this.#shares.size)
  }
}
