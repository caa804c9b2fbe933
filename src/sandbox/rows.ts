// What the sandbox keeps of a verification and of a client: the resource as the API shows it, and
// what lies behind it. Plain JSON, so that a row can be saved as it is.
import type { Client, Requirement, ThirdParty, Verification } from '../protocol/resources.ts'

/** One entry of a verification's audit trail (section 2.2; its fields are the sandbox's). */
export interface TrailEntry {
  readonly at: string
  readonly action: string
  readonly actor: 'subject' | 'operator' | 'service' | 'requestor'
  /** The step that was submitted; null for what concerns the verification as a whole. */
  readonly step: string | null
  /** The verification's status afterwards. */
  readonly status: string
  readonly reason?: string
}

export interface VerificationRow {
  readonly seq: number
  resource: Verification
  /** Null until the subject has submitted. */
  score: number | null
  /** When each step was submitted; shared while there is none. */
  completed: Readonly<Partial<Record<Requirement | string, string>>>
  trail: readonly TrailEntry[]
  readonly config?: Readonly<Record<string, unknown>>
  readonly thirdParties?: readonly ThirdParty[]
}

export interface ClientRow {
  readonly seq: number
  resource: Client
}

/** The start of every row's `completed`, shared so that 100,000 rows do not hold one each. */
export const nothingCompleted = Object.freeze({})
