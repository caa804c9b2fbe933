// The --json lines of the commands that prove and examine: verify, discover, doctor.
import type { Diagnosis, SchemeDefinition } from '../../../src/index.ts'
import type { Cause } from '../doctor/advice.ts'
import type { Framework } from '../doctor/framework.ts'

/** `verify`: one capture. */
export type VerifiedLine = {
  readonly type: 'verified'
  readonly file: string
  readonly scheme: string
  /** The text that the scheme signs, where only the file defines it: no built-in one, and not `--scheme`. */
  readonly ownSigned?: string
  readonly bytes: number
} & (
  | { readonly ok: true; readonly secretId?: string | undefined }
  | { readonly ok: false; readonly code: string; readonly diagnosis?: Diagnosis }
)

/** A scheme that `discover` found, and which spelling of the body it signs. */
export interface DiscoveredFit {
  readonly scheme: SchemeDefinition
  /** `exact`, or how the signed bytes differ from those that arrived. */
  readonly body: string
}

/** How many captures `discover` searched, and how many redacted ones it skipped. */
export interface DiscoveredCommon {
  readonly type: 'discovered'
  readonly captures: number
  readonly redacted: number
}

/** `discover`: the result of the search. */
export type DiscoveredLine = DiscoveredCommon &
  (
    | (DiscoveredFit & {
        readonly result: 'found'
        /** Code to paste. */
        readonly code: string
        /** The id was seen with one event only: capture another before you use it. */
        readonly idIsGuess?: true
        readonly next?: string
        /** Presets that verify the captures, as code: `vendors.onfido()`. */
        readonly presets?: readonly string[]
      })
    | {
        readonly result: 'ambiguous'
        readonly fits: readonly DiscoveredFit[]
        /** Each of these headers is signed separately, and either is enough. */
        readonly headers?: readonly string[]
      }
    | { readonly result: 'no-match' | 'redacted' }
    | { readonly result: 'no-signature'; readonly files: readonly string[] }
  )

/** `doctor`: what it examined, and the result. */
export type DoctorLine =
  | {
      readonly type: 'check'
      readonly name: string
      readonly state: 'ok' | 'warning' | 'failed'
      readonly message: string
    }
  | {
      readonly type: 'unchecked'
      readonly name: 'secret' | 'to' | 'inbox' | 'exact bytes' | 'clock'
    }
  | {
      readonly type: 'probe'
      readonly name: string
      readonly guarantee: 'takes' | 'exact bytes' | 'refuses' | 'bounded'
      readonly result: 'holds' | 'fails' | 'not provable'
      readonly status: number
      readonly outcome?: string
      readonly code?: string
      readonly error?: string
    }
  | {
      readonly type: 'cause'
      readonly framework: Framework
      readonly cause: Cause
      readonly message: string
      readonly fix: string
    }
  | {
      readonly type: 'summary'
      readonly probes: number
      readonly failed: number
      readonly unproved: number
      readonly causes: readonly Cause[]
      readonly framework: Framework
    }
  /** How many probes the inbox of the app has kept. */
  | { readonly type: 'left'; readonly event: string; readonly entries: number }
