// A refusal of unproved bytes, with what its diagnosis needs.
import type { RejectedCode } from '../errors.ts'
import type { Diagnosis, Evidence } from './diagnose.ts'
import { holdEvidence } from './held-evidence.ts'

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
  /** For the operator, never the sender: what was proved about the cause, if anything. */
  diagnose(): Promise<Diagnosis | undefined>
}

interface RefusedBy {
  readonly error?: unknown
  readonly evidence?: () => Evidence
  /** Of the body that the evidence holds. */
  readonly bytes?: number
}

/** A refusal holds what a diagnosis needs, and makes it when somebody asks. */
export class Refused implements Refusal {
  readonly ok = false
  readonly code: VerifyCode
  declare readonly error?: unknown
  #evidence: (() => Evidence) | undefined

  constructor(code: VerifyCode, given: RefusedBy = {}) {
    const { error, evidence, bytes = 0 } = given
    this.code = code
    if (error !== undefined) this.error = error
    this.#evidence = evidence
    if (evidence) holdEvidence(this, bytes)
  }

  /** Lets go of the stranger's bytes: it can be diagnosed no more. */
  drop(): void {
    this.#evidence = undefined
  }

  /** A function of its own: it may be taken off, and copied. */
  readonly diagnose = async (): Promise<Diagnosis | undefined> => {
    // Held meanwhile: it may be let go of while the module is loaded.
    const evidence = this.#evidence
    if (!evidence) return undefined
    // Loaded when somebody asks: no receiver that refuses nothing pays for it.
    const { diagnose } = await import('./diagnose.ts')
    return diagnose(this.code, evidence())
  }
}
