// A request as an adapter hands it over, and what its headers alone refuse.
import type { HeaderIndex, HeadersInput } from '../delivery.ts'
import { kindShown } from '../foundation/check.ts'
import type { BodyFault, BodyReading } from './intake.ts'

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

const faultCodes: Readonly<Record<BodyFault['code'], true>> = {
  ...{ BODY_TOO_LARGE: true, BODY_INCOMPLETE: true, BODY_CONSUMED: true },
  ...{ OVERLOADED: true, DRAINING: true },
}

/** The fault that `read` gave; anything else from a `read` of the user's means that the body is gone. */
export function faultOf(fault: BodyFault): BodyFault {
  if (Object.hasOwn(faultCodes, fault?.code)) return fault
  const message = `\`read\` must resolve to the exact bytes (a Uint8Array) or a fault, got ${kindShown(fault)}: read the request without parsing it`
  return { code: 'BODY_CONSUMED', message }
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
