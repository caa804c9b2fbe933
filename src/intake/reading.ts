// One body that is being read: what of it is held, and how its reading ends.
import type { Linked, LinkedList } from '../foundation/linked-list.ts'
import type { BodyFault, BodyReading, Intake } from './intake.ts'

/** A body of which something has come, in a list of those. */
export class Arrival implements Linked<Arrival> {
  isListed = false
  previous: Arrival | undefined
  next: Arrival | undefined
  readonly reading: Reading
  readonly #list: LinkedList<Arrival>

  constructor(reading: Reading, list: LinkedList<Arrival>) {
    this.reading = reading
    this.#list = list
    list.add(this)
  }

  leave(): void {
    this.#list.delete(this)
  }
}

/** One body that is being read, or is held while its delivery is handled. */
export class Reading implements BodyReading, Linked<Reading> {
  isListed = false
  previous: Reading | undefined
  next: Reading | undefined
  /** Bytes that were counted, and those of them that are still held. */
  bytes = 0
  held = 0
  reserved = 0
  /** By `performance.now()`: when it began, or its proof had to wait for something. */
  since = performance.now()
  readonly address: string | undefined
  readonly #intake: Intake
  #timer: ReturnType<typeof setTimeout> | undefined
  #stop: ((fault: BodyFault) => void) | undefined
  #stopped: BodyFault | undefined
  /** In the list of all bodies, and in that of its address. */
  #arrivals: readonly Arrival[] | undefined
  /** The list of the intake that it is in, by its age. */
  #list: LinkedList<Reading> | undefined

  constructor(intake: Intake, address: string | undefined) {
    this.#intake = intake
    this.address = address
    this.#moveTo(intake.incomplete)
  }

  get limit(): number {
    return this.#intake.limits.maxBytes
  }

  take(bytes: number): BodyFault | undefined {
    if (this.#stopped) return this.#stopped
    this.bytes += bytes
    this.held += bytes
    this.#noteArrival()
    const isWithinShare = this.#hold(bytes)
    if (this.bytes > this.limit) return { code: 'BODY_TOO_LARGE' }
    return isWithinShare && this.#intake.makeRoom(this) ? undefined : { code: 'OVERLOADED' }
  }

  reserve(length: number): boolean {
    if (!this.#intake.reserve(length)) return false
    this.reserved = length
    if (!this.take(length)) return true
    this.take(-length)
    return false
  }

  onStop(stop: (fault: BodyFault) => void): void {
    if (this.#stopped) {
      stop(this.#stopped)
      return
    }
    this.#stop = stop
    this.#noteArrival()
    const { bodyTimeout } = this.#intake.limits
    const message = `the body did not arrive within ${bodyTimeout} ms (bodyTimeout)`
    this.#timer = setTimeout(() => this.stop({ code: 'BODY_INCOMPLETE', message }), bodyTimeout)
  }

  stop(fault: BodyFault): void {
    this.#stopped = fault
    const stop = this.#stop
    this.done()
    stop?.(fault)
  }

  /** The body is complete: nothing ends it any more. */
  done(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stop = undefined
    this.leave()
  }

  /** Leaves the lists of the intake. */
  leave(): void {
    this.#moveTo(undefined)
    for (const arrival of this.#arrivals ?? []) arrival.leave()
  }

  /** The proof of a complete body is not there at once. */
  awaitProof(): void {
    this.since = performance.now()
    this.#moveTo(this.#intake.unproved)
  }

  /** The sender is known: its bytes count for as long as the delivery is handled. */
  proved(): void {
    this.leave()
  }

  /** From its first byte until it is complete it can be ended. */
  #noteArrival(): void {
    if (this.#arrivals || this.held <= 0 || !this.#stop) return
    const lists = [this.#intake.arriving, this.#intake.arrivingFrom(this.address)]
    this.#arrivals = lists.flatMap((list) => (list ? [new Arrival(this, list)] : []))
  }

  #moveTo(list: LinkedList<Reading> | undefined): void {
    this.#list?.delete(this)
    this.#list = list
    list?.add(this)
  }

  /** False when the bytes are more than its address may hold. */
  #hold(bytes: number): boolean {
    return this.#intake.hold(bytes, this.address) || this.#intake.makeRoomWithin(this)
  }
}
