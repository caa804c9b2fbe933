// The one table from outcome to status, and what each code says to the sender.
import type { FailedCode, OutcomeCode, RejectedCode } from '../errors.ts'

/** Status and message of each refusal. */
export const rejected: Readonly<Record<RejectedCode, readonly [status: number, message: string]>> =
  {
    SIGNATURE_MISSING: [401, 'the signature is missing'],
    SIGNATURE_MALFORMED: [401, 'the signature is malformed'],
    SIGNATURE_MISMATCH: [401, 'the signature does not match'],
    TIMESTAMP_OUTSIDE_TOLERANCE: [401, 'the signed time is outside the tolerance'],
    HEADER_AMBIGUOUS: [400, 'a security header is repeated'],
    ADDRESS_NOT_ALLOWED: [403, 'the address is not allowed'],
    BODY_TOO_LARGE: [413, 'the body is too large'],
    BODY_INCOMPLETE: [400, 'the body is incomplete'],
    BODY_NOT_UTF8: [400, 'the body is not UTF-8'],
    BODY_NOT_JSON: [400, 'the body is not JSON'],
    ENVELOPE_INVALID: [400, 'the body has no event envelope'],
    EVENT_INVALID: [400, 'the event does not fit its schema'],
    CONTENT_TYPE_UNSUPPORTED: [415, 'the content type is not JSON'],
    ENCODING_UNSUPPORTED: [415, 'compressed bodies are not supported'],
  }

/** Status and message of each failure on our side. */
export const failed: Readonly<Record<FailedCode, readonly [status: number, message: string]>> = {
  HANDLER_FAILED: [500, 'the event could not be handled'],
  HANDLER_TIMEOUT: [500, 'the event could not be handled in time'],
  BODY_CONSUMED: [503, 'the receiver is not set up correctly'],
  STORE_UNAVAILABLE: [503, 'the receiver is temporarily unavailable'],
  SECRET_UNAVAILABLE: [503, 'the receiver is temporarily unavailable'],
  OVERLOADED: [503, 'the receiver is overloaded'],
  DRAINING: [503, 'the receiver is shutting down'],
}

/** True for a fault on our side, false for the sender's. */
export function isFailedCode(code: OutcomeCode): code is FailedCode {
  return Object.hasOwn(failed, code)
}

/** The status of each outcome that takes a delivery. */
export const taken = { handled: 200, ignored: 200, duplicate: 200, accepted: 202 } as const
