// A request's way in: what its headers alone decide, and how many bytes may be held, by whom and
// for how long. A stranger holds only what has really arrived, and not for long.
import { Bag, type Placed } from './foundation/bag.ts'
import { invalid, shown } from './foundation/check.ts'
import { type Delivery, HeaderIndex, type HeadersInput } from './foundation/delivery.ts'
import type { OutcomeCode } from './foundation/errors.ts'
import { type Linked, LinkedList } from './foundation/linked-list.ts'
import type { WebhookEvent } from './protocol/events.ts'
import type { HeaderClaims } from './signature/claims.ts'
import type { Arrived } from './signature/verifier.ts'

/** A request as an adapter hands it over: its body is read once, and only if it is wanted. */
export interface Incoming {
  readonly method: string
  readonly url?: string
  readonly headers: HeadersInput
  /** The address of the connected client, if the runtime knows it. */
  readonly address?: string | undefined
  /** Keeps a host awake that stops after its reply, for observers that are not done by then. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
  /** The exact bytes, or the reason why they are missing. */
  read(reading: BodyReading): Promise<Uint8Array | BodyFault>
}

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

/** Why a delivery of `length` bytes is refused by its headers, or undefined when it is admitted. */
export function admit(
  headers: HeaderIndex,
  length: number,
  maxBytes: number,
): 'BODY_TOO_LARGE' | 'ENCODING_UNSUPPORTED' | 'CONTENT_TYPE_UNSUPPORTED' | undefined {
  if (length > maxBytes) return 'BODY_TOO_LARGE'
  for (const encoding of headers.values('content-encoding')) {
    if (!/^(?:identity)?$/i.test(encoding.trim())) return 'ENCODING_UNSUPPORTED'
  }
  for (const type of headers.values('content-type')) {
    if (type !== 'application/json' && !isJsonLike(type)) return 'CONTENT_TYPE_UNSUPPORTED'
  }
  return undefined
}

/** The length that the headers declare; undefined when they declare none. */
export function declaredLength(headers: HeaderIndex): number | undefined {
  const value = headers.values('content-length')[0]
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

/** `application/json`, `text/json`, `application/cloudevents+json` and the like. */
function isJsonLike(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]?.trim() ?? ''
  return /^[a-z0-9!#$&^_.-]+\/(?:[a-z0-9!#$&^_.-]+\+)?json$/i.test(type)
}

/** So many addresses are known before those that hold nothing are looked for. */
const leastAddresses = 1_000

/** The most bytes of a body that are counted before they arrive. */
const mostReserved = 16 * 1024

/** Counts the bytes of all bodies that are held, and ends what takes too long. */
export class Intake {
  readonly limits: IntakeLimits
  /** Bodies that hold bytes and are not complete, by the time of their first byte. */
  readonly arriving = new LinkedList<Reading>()
  readonly #readings = new Bag<Reading>()
  /** Bytes by address. Those without any stay for a while: most come back. */
  readonly #held = new Map<string, number>()
  #mostAddresses = leastAddresses
  #total = 0
  /** Bytes that were counted before they arrived. */
  #reserved = 0

  constructor(limits: IntakeLimits) {
    this.limits = limits
  }

  /** Begins to read one body; `end` it when its delivery is answered. */
  begin(address: string | undefined): Reading {
    const reading = new Reading(this, address)
    this.#readings.add(reading)
    return reading
  }

  end(reading: Reading): void {
    reading.done()
    this.#readings.delete(reading)
    this.#reserved -= reading.reserved
    this.hold(-reading.held, reading.address)
  }

  /**
   * Ends the bodies that have been arriving for longest until the others fit, for a genuine one
   * arrives at once; false where this one has to go.
   */
  makeRoom(latest: Reading): boolean {
    while (this.#total > this.limits.maxInFlightBytes) {
      const { first } = this.arriving
      if (!first || first === latest) return false
      this.hold(-first.held, first.address)
      first.held = 0
      first.stop({ code: 'OVERLOADED' })
    }
    return true
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
    for (const reading of this.#readings.all()) reading.stop({ code })
  }

  /** False when the bytes are more than one address may hold: half of all. */
  hold(bytes: number, address: string | undefined): boolean {
    const { maxBytes, maxInFlightBytes } = this.limits
    this.#total += bytes
    if (address === undefined) return true
    const held = (this.#held.get(address) ?? 0) + bytes
    this.#held.set(address, held)
    if (this.#held.size > this.#mostAddresses) this.#forgetIdle()
    const share = Math.max(maxBytes, Math.floor(maxInFlightBytes / 2))
    return held <= share
  }

  #forgetIdle(): void {
    for (const [address, bytes] of this.#held) if (bytes === 0) this.#held.delete(address)
    this.#mostAddresses = Math.max(leastAddresses, 2 * this.#held.size)
  }
}

/** One body that is being read, or is held while its delivery is handled. */
export class Reading implements BodyReading, Placed, Linked<Reading> {
  place = -1
  isListed = false
  previous: Reading | undefined
  next: Reading | undefined
  /** Bytes that were counted, and those of them that are still held. */
  bytes = 0
  held = 0
  reserved = 0
  readonly address: string | undefined
  readonly #intake: Intake
  #timer: ReturnType<typeof setTimeout> | undefined
  #stop: ((fault: BodyFault) => void) | undefined
  #stopped: BodyFault | undefined

  constructor(intake: Intake, address: string | undefined) {
    this.#intake = intake
    this.address = address
  }

  get limit(): number {
    return this.#intake.limits.maxBytes
  }

  take(bytes: number): BodyFault | undefined {
    if (this.#stopped) return this.#stopped
    this.bytes += bytes
    this.held += bytes
    this.#noteArrival()
    const isWithinShare = this.#intake.hold(bytes, this.address)
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
    this.#intake.arriving.delete(this)
  }

  /** From its first byte until it is complete it can be ended. */
  #noteArrival(): void {
    if (this.held > 0 && this.#stop) this.#intake.arriving.add(this)
  }
}

/** One delivery on its way through: each fact about it is worked out once, and handed on here. */
export class Walk implements Arrived {
  readonly headers: HeaderIndex
  readonly url: string | undefined
  readonly method: string | undefined
  readonly address: string | undefined
  readonly receivedAt: Date | undefined
  readonly waitUntil: Incoming['waitUntil']
  /** When it began, by `performance.now()`; 0 where nobody observes. */
  readonly began: number
  now = 0
  claims: HeaderClaims = unclaimed
  body: Uint8Array = noBytes
  bytes = 0
  event: WebhookEvent | undefined

  /** @throws WebhookError `OPTION_INVALID` for what is not a delivery at all */
  constructor(of: Omit<Delivery, 'body'> & Pick<Incoming, 'waitUntil'>, isObserved: boolean) {
    if (typeof of?.headers !== 'object' || of.headers === null) {
      throw invalid(
        `expected a delivery { body, headers }, got ${shown(of)}. In tests make one by await signedDelivery(event)`,
      )
    }
    this.headers = new HeaderIndex(of.headers)
    this.url = of.url
    this.method = of.method
    this.address = of.address
    this.receivedAt = of.receivedAt
    this.waitUntil = of.waitUntil
    this.began = isObserved ? performance.now() : 0
  }
}

const unclaimed: HeaderClaims = { ok: false, code: 'SIGNATURE_MISSING' }
const noBytes = new Uint8Array()
