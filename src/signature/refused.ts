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
  /** For the operator, never the sender: what was proved about the cause, if anything. */
  diagnose(): Promise<Diagnosis | undefined>
}

interface RefusedBy {
  readonly error?: unknown
  readonly evidence?: () => Evidence
  /** Of the body that the evidence holds. */
  readonly bytes?: number
}

/** So many refusals, and so many bytes of their bodies, can be diagnosed: an observer may keep more. */
const maxHeld = 100
const maxHeldBytes = 64 * 1_048_576

const held: { readonly refusal: WeakRef<Refused>; readonly bytes: number }[] = []
let heldBytes = 0

/** Counts the evidence of a refusal; the oldest refusals beyond the bounds drop theirs. */
function hold(refusal: Refused, bytes: number): void {
  // Some hosts have no WeakRef: there a refusal holds its evidence for as long as it lives.
  if (typeof WeakRef !== 'function') return
  held.push({ refusal: new WeakRef(refusal), bytes })
  heldBytes += bytes
  while (held.length > maxHeld || heldBytes > maxHeldBytes) {
    const oldest = held.shift()
    heldBytes -= oldest?.bytes ?? heldBytes
    oldest?.refusal.deref()?.drop()
  }
}

/** A refusal holds what a diagnosis needs, and makes the diagnosis on demand. */
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
    if (evidence) hold(this, bytes)
  }

  /** Gives up the unproved bytes: the refusal cannot be diagnosed any more. */
  drop(): void {
    this.#evidence = undefined
  }

  // An own property, because callers may detach it.
  readonly diagnose = async (): Promise<Diagnosis | undefined> => {
    // Kept here, because it may be dropped while the module is loaded.
    const evidence = this.#evidence
    if (!evidence) return undefined
    // Loaded on demand: a receiver that rejects nothing does not pay for it. Built, this is the
    // import `#diagnosis`, which bundles for workers resolve to nothing outside development.
    const { diagnose } = await import('./diagnose.ts')
    return diagnose(this.code, evidence())
  }
}
