// How many bytes of bodies may be held, by whom and for how long. A stranger holds only what has
// really arrived, and not for long.

import type { OutcomeCode } from '../errors.ts'
import { bodyDeadline } from '../foundation/body-deadline.ts'
import { shown } from '../foundation/check.ts'
import { type Linked, LinkedList } from '../foundation/linked-list.ts'
import { shareNameOf } from '../signature/addresses.ts'
import { Arrival, Arrivals, Shares } from './shares.ts'

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
  readonly #mostOfShare: number
  /** Bodies that hold bytes and are not complete, by the time of their first byte. */
  readonly arriving = new Arrivals<Reading>()
  /** Complete bodies whose proof waits for something, by the time at which they were complete. */
  readonly unproved = new LinkedList<Reading>()
  /** Bodies that are not complete, by the time at which they began. */
  readonly incomplete = new LinkedList<Reading>()
  readonly #shares = new Shares<Reading>()
  #total = 0
  /** Bytes that were counted before they arrived. */
  #reserved = 0

  constructor(limits: IntakeLimits) {
    this.limits = limits
    this.#mostOfShare = Math.max(limits.maxBytes, Math.floor(limits.maxInFlightBytes / 2))
  }

  /** Begins to read one body; `end` it when its delivery is answered. */
  begin(address: string | undefined): Reading {
    if (this.incomplete.size > mostUnlooked) this.endDropped()
    return new Reading(this, shareNameOf(address))
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
    const over = () => this.#total - this.limits.maxInFlightBytes
    if (over() > 0) this.endDropped()
    return this.#makeRoomIn(this.arriving, latest, over)
  }

  /** The same within the share of an address, which may be a proxy's: other addresses stay. */
  makeRoomWithin(latest: Reading): boolean {
    const { address } = latest
    if (address === undefined) return true
    this.endDropped()
    const share = this.#shares.of(address)
    return this.#makeRoomIn(share.arriving, latest, () => share.bytes - this.#mostOfShare)
  }

  #makeRoomIn(arriving: Arrivals<Reading>, latest: Reading, over: () => number): boolean {
    // Most may be held by what is handled now: to end the others would then be in vain.
    if (over() > arriving.bytes - latest.arrivingBytes) return false
    while (over() > 0) {
      const first = arriving.first?.body
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
    const isShort = Number.isInteger(length) && length >= 0 && length <= mostReserved
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
    this.#total += bytes
    if (address === undefined) return true
    const share = this.#shares.of(address)
    share.bytes += bytes
    return share.bytes <= this.#mostOfShare
  }

  /** The bodies of one address that are arriving, where it is known. */
  arrivingFrom(address: string | undefined): Arrivals<Reading> | undefined {
    return address === undefined ? undefined : this.#shares.of(address).arriving
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
  /** By the name of its share. */
  readonly address: string | undefined
  readonly #intake: Intake
  #giveUpDeadline: (() => void) | undefined
  #stop: ((fault: BodyFault) => void) | undefined
  #stopped: BodyFault | undefined
  /** In the list of all bodies, and in that of its address. */
  #arrivals: readonly Arrival<Reading>[] | undefined
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

  // Functions of its own, as an adapter may take them off.
  readonly take = (bytes: number): BodyFault | undefined => {
    if (this.#stopped) return this.#stopped
    if (!Number.isSafeInteger(bytes)) {
      const message = `\`take\` expects a whole number of bytes, got ${shown(bytes)}`
      return { code: 'BODY_CONSUMED', message }
    }
    this.bytes += bytes
    this.held += bytes
    this.#noteArrival(bytes)
    const isWithinShare = this.#hold(bytes)
    if (this.bytes > this.limit) return { code: 'BODY_TOO_LARGE' }
    return isWithinShare && this.#intake.makeRoom(this) ? undefined : { code: 'OVERLOADED' }
  }

  readonly reserve = (length: number): boolean => {
    if (!this.#intake.reserve(length)) return false
    this.reserved = length
    if (!this.take(length)) return true
    this.take(-length)
    return false
  }

  readonly onStop = (stop: (fault: BodyFault) => void): void => {
    if (this.#stopped) {
      stop(this.#stopped)
      return
    }
    this.#stop = stop
    this.#noteArrival(0)
    const { bodyTimeout } = this.#intake.limits
    const message = `the body did not arrive within ${bodyTimeout} ms (bodyTimeout)`
    const end = () => this.stop({ code: 'BODY_INCOMPLETE', message })
    this.#giveUpDeadline = bodyDeadline(bodyTimeout, end)
  }

  stop(fault: BodyFault): void {
    this.#stopped = fault
    const stop = this.#stop
    this.done()
    stop?.(fault)
  }

  /** The body is complete: nothing ends it any more. */
  done(): void {
    this.#giveUpDeadline?.()
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

  /** Bytes that would be free if it ended now. */
  get arrivingBytes(): number {
    return this.#arrivals?.[0]?.isListed ? this.held : 0
  }

  /** From its first byte until it is complete it can be ended. */
  #noteArrival(bytes: number): void {
    if (this.#arrivals) {
      for (const arrival of this.#arrivals) arrival.count(bytes)
      return
    }
    if (this.held <= 0 || !this.#stop) return
    const lists = [this.#intake.arriving, this.#intake.arrivingFrom(this.address)]
    this.#arrivals = lists.flatMap((list) => (list ? [new Arrival(this, list)] : []))
    for (const arrival of this.#arrivals) arrival.count(this.held)
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
