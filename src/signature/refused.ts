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
  /** Undefined once later refusals have taken its place. */
  evidence: (() => Evidence) | undefined
  readonly bytes: number
}

/** The evidence of the latest refusals. An observer may keep more refusals, and none of their bodies. */
const held: HeldEvidence[] = []
let heldBytes = 0

function hold(latest: HeldEvidence): HeldEvidence {
  held.push(latest)
  heldBytes += latest.bytes
  while (held.length > 1 && (held.length > maxHeld || heldBytes > maxHeldBytes)) {
    const oldest = held.shift()
    if (!oldest) break
    heldBytes -= oldest.bytes
    oldest.evidence = undefined
  }
  return latest
}

/** A refusal, which makes its diagnosis on demand. */
export class Refused implements Refusal {
  readonly ok = false
  readonly code: VerifyCode
  declare readonly error?: unknown
  readonly #held: HeldEvidence | undefined

  constructor(code: VerifyCode, { error, evidence, bytes = 0 }: RefusedBy = {}) {
    this.code = code
    if (error !== undefined) this.error = error
    this.#held = evidence && hold({ evidence, bytes })
  }

  // An own property, because callers may detach it.
  readonly diagnose = async (): Promise<Diagnosis | undefined> => {
    // Read first, because others may take its place while the module is loaded.
    const evidence = this.#held?.evidence
    if (!evidence) return undefined
    // Loaded on demand: a receiver that rejects nothing does not pay for it. Built, this is the
    // import `#diagnosis`, which bundles for workers resolve to nothing outside development.
    const { diagnose } = await import('./diagnose.ts')
    return diagnose(this.code, evidence())
  }
}
