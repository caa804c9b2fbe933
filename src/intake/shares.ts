// The share of each address in the bytes that are held, and the bodies of it that are arriving.
import { type Linked, LinkedList } from '../foundation/linked-list.ts'

/** So many addresses are known before those that hold nothing are looked for. */
const leastAddresses = 1_000

/** A body of which something has come, in a list of those by the time of their first byte. */
export class Arrival<Body> implements Linked<Arrival<Body>> {
  isListed = false
  previous: Arrival<Body> | undefined
  next: Arrival<Body> | undefined
  readonly body: Body
  readonly #list: LinkedList<Arrival<Body>>

  constructor(body: Body, list: LinkedList<Arrival<Body>>) {
    this.body = body
    this.#list = list
    list.add(this)
  }

  leave(): void {
    this.#list.delete(this)
  }
}

/** Of one address. */
class Share<Body> {
  bytes = 0
  /** Its bodies that hold bytes and are not complete. */
  readonly arriving = new LinkedList<Arrival<Body>>()
}

/** Of all addresses. Those that hold nothing stay for a while: most come back. */
export class Shares<Body> {
  readonly #shares = new Map<string, Share<Body>>()
  #mostAddresses = leastAddresses

  of(address: string): Share<Body> {
    const known = this.#shares.get(address)
    if (known) return known
    if (this.#shares.size >= this.#mostAddresses) this.#forgetIdle()
    const share = new Share<Body>()
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
