// A request as it comes in: what its headers alone refuse, and how many bytes of bodies may be held.
// An unauthenticated client holds only what has really arrived, and not for long.
import type { HeaderIndex, HeadersInput } from '../delivery.ts'
import type { OutcomeCode } from '../errors.ts'
import { kindShown, shown } from '../foundation/check.ts'

const faultCodes = [
  ...(['BODY_TOO_LARGE', 'BODY_INCOMPLETE', 'BODY_CONSUMED', 'OVERLOADED', 'DRAINING'] as const),
]

/** Why a body could not be read; `message` is for the operator. */
export interface BodyFault {
  readonly code: (typeof faultCodes)[number]
  readonly message?: string
}

/** The reading of one body: its limits, and what an adapter tells of it. */
export interface BodyReading {
  /** The most bytes that are read. */
  readonly limit: number
  /** Counts bytes as they arrive; a fault ends the reading. */
  take(bytes: number): BodyFault | undefined
  /**
   * Counts a short body of a declared length before it arrives, so that an adapter may read it in
   * one go. If it returns false, `take` counts each chunk.
   */
  reserve(length: number): boolean
  /** Registers how the reading is ended from outside: at its deadline, or by a drain. */
  onStop(stop: (fault: BodyFault) => void): void
}

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

/** The bounds of what is read: bytes of one body and of all at a time, milliseconds for one body. */
export interface IntakeLimits {
  readonly maxBytes: number
  readonly maxInFlightBytes: number
  readonly bodyTimeout: number
}

/** Bytes of the longest body that is counted before it arrives. */
const maxReserved = 16 * 1024

const overloaded: BodyFault = { code: 'OVERLOADED' }

/** Counts the bytes of all bodies that are held, and ends what takes too long. */
export class Intake {
  readonly limits: IntakeLimits
  readonly #maxShare: number
  /** Bodies of which nothing has come. */
  readonly #waiting = new Set<Reading>()
  /** Bodies that have come in part, by the time of their first byte. */
  readonly #arriving = new Set<Reading>()
  #arrivingBytes = 0
  /** Held bytes by address. */
  readonly #shares = new Map<string, number>()
  #total = 0
  /** Bytes that were counted before they arrived. */
  #reserved = 0

  constructor(limits: IntakeLimits) {
    this.limits = limits
    this.#maxShare = Math.max(limits.maxBytes, Math.floor(limits.maxInFlightBytes / 2))
  }

  /** Begins to read one body; `end` it when its delivery is answered. */
  begin(address: string | undefined): Reading {
    return new Reading(this, address?.includes(':') ? networkOf(address) : address)
  }

  /** From now on the body can be ended, until it is done. */
  watch(reading: Reading): void {
    this.#waiting.add(reading)
    if (reading.held > 0) this.#hold(reading, 0)
  }

  /** The body is complete, or was ended. */
  done(reading: Reading): void {
    if (!reading.isOpen) return
    reading.isOpen = false
    clearTimeout(reading.timer)
    if (this.#arriving.delete(reading)) this.#arrivingBytes -= reading.held
    else this.#waiting.delete(reading)
  }

  end(reading: Reading): void {
    if (reading.isOpen) this.done(reading)
    this.#reserved -= reading.reserved
    reading.reserved = 0
    this.#hold(reading, -reading.held)
  }

  /** Ends all reading that is under way. */
  stop(code: OutcomeCode & BodyFault['code']): void {
    for (const reading of [...this.#waiting, ...this.#arriving]) reading.stop({ code })
  }

  /** Counts bytes of a body; a fault if they do not fit. */
  take(reading: Reading, bytes: number): BodyFault | undefined {
    const { maxBytes, maxInFlightBytes } = this.limits
    const share = this.#hold(reading, bytes)
    if (reading.bytes > maxBytes) return { code: 'BODY_TOO_LARGE' }
    if (share > this.#maxShare) return overloaded
    return this.#total <= maxInFlightBytes || this.#makeRoom(reading) ? undefined : overloaded
  }

  /** True if a short body may be counted before it arrives: all such bodies share a quarter. */
  reserve(reading: Reading, length: number): boolean {
    if (!(Number.isInteger(length) && length >= 0 && length <= maxReserved)) return false
    if (this.#reserved + length > this.limits.maxInFlightBytes / 4) return false
    this.#reserved += length
    reading.reserved = length
    return true
  }

  /** The bytes that the address holds afterwards. */
  #hold(reading: Reading, bytes: number): number {
    reading.held += bytes
    this.#total += bytes
    if (this.#arriving.has(reading)) this.#arrivingBytes += bytes
    else if (reading.held > 0 && this.#waiting.delete(reading)) {
      this.#arriving.add(reading)
      this.#arrivingBytes += reading.held
    }
    const { address } = reading
    if (address === undefined) return 0
    const share = (this.#shares.get(address) ?? 0) + bytes
    if (share === 0) this.#shares.delete(address)
    else this.#shares.set(address, share)
    return share
  }

  /**
   * Ends the bodies that have been arriving for longest until the others fit, because a genuine body
   * arrives at once. False if the latest one has to end instead.
   */
  #makeRoom(latest: Reading): boolean {
    const { maxInFlightBytes } = this.limits
    const others = this.#arrivingBytes - (this.#arriving.has(latest) ? latest.held : 0)
    // Handlers may hold most of the bytes: to end the other bodies would not make room.
    if (this.#total - others > maxInFlightBytes) return false
    for (const reading of this.#arriving) {
      if (this.#total <= maxInFlightBytes || reading === latest) break
      this.#hold(reading, -reading.held)
      reading.stop(overloaded)
    }
    return this.#total <= maxInFlightBytes
  }
}

/** The /64 of an IPv6 address, which a single machine has as a rule, as text; IPv4 within it whole. */
function networkOf(address: string): string {
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  return address.split('::', 1).join().split(':', 4).join(':').toLowerCase()
}

/**
 * One body that is being read, or is held while its delivery is handled. Its fields are declared only:
 * every request makes one.
 */
export class Reading implements BodyReading {
  declare readonly limit: number
  /** Bytes that were counted, and those of them that are still held. */
  declare bytes: number
  declare held: number
  declare reserved: number
  /** True while it can be ended. */
  declare isOpen: boolean
  /** The address, or the network of IPv6, whose share holds the bytes. */
  declare readonly address: string | undefined
  declare private readonly intake: Intake
  declare timer: ReturnType<typeof setTimeout> | undefined
  declare private stopWith: ((fault: BodyFault) => void) | undefined
  declare private stopped: BodyFault | undefined

  constructor(intake: Intake, address: string | undefined) {
    this.intake = intake
    this.limit = intake.limits.maxBytes
    this.address = address
    this.bytes = 0
    this.held = 0
    this.reserved = 0
    this.isOpen = false
  }

  take(bytes: number): BodyFault | undefined {
    if (this.stopped) return this.stopped
    if (!Number.isSafeInteger(bytes)) {
      const message = `\`take\` expects a whole number of bytes, got ${shown(bytes)}`
      return { code: 'BODY_CONSUMED', message }
    }
    this.bytes += bytes
    return this.intake.take(this, bytes)
  }

  reserve(length: number): boolean {
    if (!this.intake.reserve(this, length)) return false
    if (!this.take(length)) return true
    this.take(-length)
    return false
  }

  onStop(stop: (fault: BodyFault) => void): void {
    this.stopWith = stop
    this.isOpen = true
    this.intake.watch(this)
    // A plain timer for each body: on workers a timer belongs to the request that started it.
    this.timer = setTimeout(expire, this.intake.limits.bodyTimeout, this, this.intake.limits)
  }

  stop(fault: BodyFault): void {
    this.stopped = fault
    this.intake.done(this)
    this.stopWith?.(fault)
  }

  /**
   * Ends a complete body. Counts the bytes that its adapter did not count; returns a fault if they
   * exceed a limit.
   */
  complete(length: number): BodyFault | undefined {
    const fault = length === this.bytes ? undefined : this.take(length - this.bytes)
    if (!fault) this.intake.done(this)
    return fault
  }
}

function expire(reading: Reading, { bodyTimeout }: IntakeLimits): void {
  const message = `the body did not arrive within ${bodyTimeout} ms (bodyTimeout)`
  reading.stop({ code: 'BODY_INCOMPLETE', message })
}

/** The fault that `read` gave; anything else from a `read` of the user's means that the body is gone. */
export function faultOf(fault: BodyFault): BodyFault {
  if (faultCodes.includes(fault?.code)) return fault
  const message = `\`read\` must resolve to the exact bytes (a Uint8Array) or a fault, got ${kindShown(fault)}: read the request without parsing it`
  return { code: 'BODY_CONSUMED', message }
}

/** The codings of HTTP (RFC 9110, 8.4.1) and their kin; some senders write a charset instead. */
const compressions = /\b(?:(?:x-)?gzip|(?:x-)?compress|deflate|br|zstd|dcb|dcz)\b/i

/** Why a delivery of `length` bytes is refused by its headers, or undefined when it is admitted. */
export function admit(
  headers: HeaderIndex,
  length: number,
  maxBytes: number,
): 'BODY_TOO_LARGE' | 'ENCODING_UNSUPPORTED' | 'CONTENT_TYPE_UNSUPPORTED' | undefined {
  if (length > maxBytes) return 'BODY_TOO_LARGE'
  for (const encoding of headers.values('content-encoding')) {
    if (compressions.test(encoding)) return 'ENCODING_UNSUPPORTED'
  }
  for (const type of headers.values('content-type')) {
    if (type !== 'application/json' && !isJsonLike(type)) return 'CONTENT_TYPE_UNSUPPORTED'
  }
  return undefined
}

/** Names the header value of a 415, if it is short and plain: an unauthenticated client wrote it. */
export function unsupported(headers: HeaderIndex, code: OutcomeCode): string | undefined {
  const isType = code === 'CONTENT_TYPE_UNSUPPORTED'
  if (!isType && code !== 'ENCODING_UNSUPPORTED') return undefined
  const value = headers.values(isType ? 'content-type' : 'content-encoding').join(', ')
  if (!/^[\w!#$&^.+/;=, -]{1,80}$/.test(value)) return undefined
  return isType ? `the content type is ${value}, not JSON` : `the body is encoded as ${value}`
}

/** The length that the headers declare; undefined when they declare none. */
export function declaredLength(headers: HeaderIndex): number | undefined {
  const value = headers.values('content-length')[0]
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

/** `application/json`, `text/json`, `application/cloudevents+json` and the like. */
function isJsonLike(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]?.trim()
  return !type || /^[a-z0-9!#$&^_.-]+\/(?:[a-z0-9!#$&^_.-]+\+)?json$/i.test(type)
}
