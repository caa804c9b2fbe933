// A request's way in: what its headers alone give away is refused, the rest is read within the
// bounds that keep a flood from filling the memory.
import { admit, declaredLength } from './admit.ts'
import { type Delivery, type HeadersInput, headerList } from './delivery.ts'
import type { OutcomeCode } from './errors.ts'
import type { Verifier } from './verify.ts'

/** A request as an adapter hands it over: its body is read once, and only if it is wanted. */
export interface Incoming {
  readonly method: string
  readonly url?: string
  readonly headers: HeadersInput
  /** The exact bytes, at most `limit` of them, or why there are none. */
  read(limit: number): Promise<Uint8Array | BodyFault>
}

/** Why a body could not be read; `message` is for the operator. */
export interface BodyFault {
  readonly code: 'BODY_TOO_LARGE' | 'BODY_INCOMPLETE' | 'BODY_CONSUMED'
  readonly message?: string
}

/** A refusal before the body was read. */
export interface TurnedAway {
  readonly code: OutcomeCode
  readonly message?: string
  readonly bytes: number
}

/** The bounds, in bytes, of one body and of all at a time. */
export interface IntakeLimits {
  readonly maxBytes: number
  readonly maxInFlightBytes: number
}

/** Lets requests in, as many bytes at a time as the bounds allow. */
export class Intake {
  readonly #limits: IntakeLimits
  readonly #verifier: Pick<Verifier, 'inspect'>
  #bytesInFlight = 0

  constructor(limits: IntakeLimits, verifier: Pick<Verifier, 'inspect'>) {
    this.#limits = limits
    this.#verifier = verifier
  }

  /** Reads a request's body, if it is wanted, and hands it on while it counts as in flight. */
  async take<Result>(
    { headers: given, url, read }: Incoming,
    then: (arrived: Delivery | TurnedAway) => Promise<Result>,
  ): Promise<Result> {
    const { maxBytes, maxInFlightBytes } = this.#limits
    const headers = headerList(given)
    const declared = declaredLength(headers)
    const bytes = declared ?? maxBytes
    const code = admit(headers, declared ?? 0, maxBytes) ?? this.#unsigned(headers)
    if (code) return then({ code, bytes: declared ?? 0 })
    if (this.#bytesInFlight + bytes > maxInFlightBytes) return then({ code: 'OVERLOADED', bytes })
    this.#bytesInFlight += bytes
    try {
      const body = await read(maxBytes)
      return await then(
        body instanceof Uint8Array
          ? { body, headers, ...(url !== undefined && { url }) }
          : { ...body, bytes: declared ?? 0 },
      )
    } finally {
      this.#bytesInFlight -= bytes
    }
  }

  /** A time outside the tolerance is left to `verify`, which can tell a late one from a forged. */
  #unsigned(headers: ReturnType<typeof headerList>): OutcomeCode | undefined {
    const claims = this.#verifier.inspect(headers)
    return claims.ok || claims.late ? undefined : claims.code
  }
}
