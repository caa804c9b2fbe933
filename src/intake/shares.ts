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
  readonly #list: Arrivals<Body>
  #bytes = 0

  constructor(body: Body, list: Arrivals<Body>) {
    this.body = body
    this.#list = list
    list.add(this)
  }

  /** More of its body has come. */
  count(bytes: number): void {
    if (!this.isListed) return
    this.#bytes += bytes
    this.#list.bytes += bytes
  }

  leave(): void {
    if (!this.isListed) return
    this.#list.bytes -= this.#bytes
    this.#list.delete(this)
  }
}

/** Bodies that hold bytes and are not complete, so that they can be ended. */
export class Arrivals<Body> extends LinkedList<Arrival<Body>> {
  bytes = 0
}

/** Of one address. */
class Share<Body> {
  bytes = 0
  readonly arriving = new Arrivals<Body>()
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
