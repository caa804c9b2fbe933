// A refusal of unproved bytes, with what its diagnosis needs.
import type { RejectedCode } from '../errors.ts'
import type { Diagnosis, Evidence } from './diagnose.ts'

/** The codes with which `verify` refuses. */
export type VerifyCode =
  | Extract<
      RejectedCode,
      | 'SIGNATURE_MISSING'
      | 'SIGNATURE_MALFORMED'
      | 'SIGNATURE_MISMATCH'
      | 'TIMESTAMP_OUTSIDE_TOLERANCE'
      | 'HEADER_AMBIGUOUS'
      | 'ADDRESS_NOT_ALLOWED'
    >
  | 'SECRET_UNAVAILABLE'

/** A refusal: its code, and on demand what can be proved about its cause. */
export interface Refusal {
  readonly ok: false
  readonly code: VerifyCode
  /** Why the look-up of secrets failed, with `SECRET_UNAVAILABLE`. */
  readonly error?: unknown
  /** For the operator, never the sender: the proved cause, if there is one. */
  diagnose(): Promise<Diagnosis | undefined>
}

interface RefusedBy {
  readonly error?: unknown
  readonly evidence?: () => Evidence
  /** The length of the body that the evidence holds. */
  readonly bytes?: number
}

/** The number of refusals, and the bytes of their bodies, that are held for a diagnosis. */
const maxHeld = 100
const maxHeldBytes = 8 * 1_048_576

interface HeldEvidence {
  readonly evidence: () => Evidence
  readonly bytes: number
}

/** The evidence of the latest refusals. An observer may keep more refusals, and none of their bodies. */
const held: (HeldEvidence | undefined)[] = []
let oldest = 0
let next = 0
let heldBytes = 0

/** Holds the evidence of a refusal; returns its place. */
function hold(evidence: () => Evidence, bytes: number): number {
  while (oldest < next && (next - oldest >= maxHeld || heldBytes + bytes > maxHeldBytes)) {
    heldBytes -= held[oldest % maxHeld]?.bytes ?? 0
    held[oldest % maxHeld] = undefined
    oldest += 1
  }
  heldBytes += bytes
  held[next % maxHeld] = { evidence, bytes }
  next += 1
  return next - 1
}

/** A refusal, which makes its diagnosis on demand. */
export class Refused implements Refusal {
  readonly ok = false
  readonly code: VerifyCode
  declare readonly error?: unknown
  readonly #place: number

  constructor(code: VerifyCode, { error, evidence, bytes = 0 }: RefusedBy = {}) {
    this.code = code
    if (error !== undefined) this.error = error
    this.#place = evidence ? hold(evidence, bytes) : -1
  }

  // An own property, because callers may detach it.
  readonly diagnose = async (): Promise<Diagnosis | undefined> => {
    // Kept here, because others may take its place while the module is loaded.
    const found = this.#place < oldest ? undefined : held[this.#place % maxHeld]
    if (!found) return undefined
    // Loaded on demand: a receiver that rejects nothing does not pay for it. Built, this is the
    // import `#diagnosis`, which bundles for workers resolve to nothing outside development.
    const { diagnose } = await import('./diagnose.ts')
    return diagnose(this.code, found.evidence())
  }
}
