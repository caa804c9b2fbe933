// How many bytes of bodies may be held, by whom and for how long. A stranger holds only what has
// really arrived, and not for long.
import type { OutcomeCode } from '../foundation/errors.ts'
import { LinkedList } from '../foundation/linked-list.ts'
import { type Arrival, Reading } from './reading.ts'
import { Shares } from './shares.ts'

/** Why a body could not be read; `message` is for the operator. */
export interface BodyFault {
  readonly code: 'BODY_TOO_LARGE' | 'BODY_INCOMPLETE' | 'BODY_CONSUMED' | 'OVERLOADED' | 'DRAINING'
  readonly message?: string
}

/** The limits that an adapter applies while it reads a body. */
export interface BodyReading {
  /** The most bytes that are read. */
  readonly limit: number
  /** Counts bytes as they arrive; a fault ends the reading. */
  take(bytes: number): BodyFault | undefined
  /**
   * Counts a short body of a declared length before it arrives, so that it may be read in one go.
   * False where it may not: then `take` counts each chunk.
   */
  reserve(length: number): boolean
  /** Registers how the reading is ended from outside: at its deadline, or by a drain. */
  onStop(stop: (fault: BodyFault) => void): void
}

/** The bounds of what is read: bytes of one body and of all at a time, milliseconds for one body. */
export interface IntakeLimits {
  readonly maxBytes: number
  readonly maxInFlightBytes: number
  readonly bodyTimeout: number
}

/** So many incomplete bodies are there before those of dropped requests are looked for. */
const mostUnlooked = 100

/** Milliseconds: twice what a look-up of secrets may take. */
const mostProof = 10_000

/** The most bytes of a body that are counted before they arrive. */
const mostReserved = 16 * 1024

/** Counts the bytes of all bodies that are held, and ends what takes too long. */
export class Intake {
  readonly limits: IntakeLimits
  /** Bodies that hold bytes and are not complete, by the time of their first byte. */
  readonly arriving = new LinkedList<Arrival>()
  /** Complete bodies whose proof waits for something, by the time at which they were complete. */
  readonly unproved = new LinkedList<Reading>()
  /** Bodies that are not complete, by the time at which they began. */
  readonly incomplete = new LinkedList<Reading>()
  readonly #shares = new Shares()
  #total = 0
  /** Bytes that were counted before they arrived. */
  #reserved = 0

  constructor(limits: IntakeLimits) {
    this.limits = limits
  }

  /** Begins to read one body; `end` it when its delivery is answered. */
  begin(address: string | undefined): Reading {
    if (this.incomplete.size > mostUnlooked) this.endDropped()
    return new Reading(this, address)
  }

  end(reading: Reading): void {
    reading.done()
    this.#giveBack(reading)
  }

  #giveBack(reading: Reading): void {
    this.#reserved -= reading.reserved
    this.hold(-reading.held, reading.address)
    reading.reserved = 0
    reading.held = 0
  }

  /**
   * Gives back what dropped requests hold: some hosts drop one whose sender has gone, with all that
   * would run after it, timers included. What is far beyond its time limits is one of those. They
   * are not stopped: to wake what belongs to another request is refused there.
   */
  endDropped(): void {
    const now = performance.now()
    this.#endBegunBefore(now - mostProof, this.unproved)
    this.#endBegunBefore(now - mostProof - this.limits.bodyTimeout, this.incomplete)
  }

  #endBegunBefore(time: number, list: LinkedList<Reading>): void {
    for (;;) {
      const { first } = list
      if (!first || first.since > time) return
      first.leave()
      this.#giveBack(first)
    }
  }

  /**
   * Ends the bodies that have been arriving for longest until the others fit, for a genuine one
   * arrives at once; false where this one has to go.
   */
  makeRoom(latest: Reading): boolean {
    if (this.#total > this.limits.maxInFlightBytes) this.endDropped()
    while (this.#total > this.limits.maxInFlightBytes) {
      const first = this.arriving.first?.reading
      if (!first || first === latest) return false
      this.#evict(first)
    }
    return true
  }

  /** The same within the share of an address, which may be a proxy's: other addresses stay. */
  makeRoomWithin(latest: Reading): boolean {
    this.endDropped()
    while (!this.hold(0, latest.address)) {
      const first = this.arrivingFrom(latest.address)?.first?.reading
      if (!first || first === latest) return false
      this.#evict(first)
    }
    return true
  }

  #evict(reading: Reading): void {
    this.hold(-reading.held, reading.address)
    reading.held = 0
    reading.stop({ code: 'OVERLOADED' })
  }

  /** Whether a short body may be counted before it arrives: all of them have a quarter. */
  reserve(length: number): boolean {
    const isShort = length >= 0 && length <= mostReserved
    if (!isShort || this.#reserved + length > this.limits.maxInFlightBytes / 4) return false
    this.#reserved += length
    return true
  }

  /** Ends all reading that is under way. */
  stop(code: OutcomeCode & BodyFault['code']): void {
    // Each leaves the list as it is stopped.
    for (;;) {
      const { first } = this.incomplete
      if (!first) return
      first.stop({ code })
    }
  }

  /** False when the bytes are more than one address may hold: half of all. */
  hold(bytes: number, address: string | undefined): boolean {
    const { maxBytes, maxInFlightBytes } = this.limits
    this.#total += bytes
    if (address === undefined) return true
    const share = this.#shares.of(address)
    share.bytes += bytes
    return share.bytes <= Math.max(maxBytes, Math.floor(maxInFlightBytes / 2))
  }

  /** The bodies of one address that are arriving, where it is known. */
  arrivingFrom(address: string | undefined): LinkedList<Arrival> | undefined {
    return address === undefined ? undefined : this.#shares.of(address).arriving
  }
}
