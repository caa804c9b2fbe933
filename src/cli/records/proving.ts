// The --json lines of the commands that prove and examine: verify, discover, doctor.
import type { Diagnosis, SchemeDefinition } from '../../index.ts'
import type { Framework } from '../doctor/framework.ts'
import type { Cause } from '../doctor/known-causes.ts'

/** `verify`: one capture. */
export type VerifiedLine = {
  readonly type: 'verified'
  readonly file: string
  readonly scheme: string
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

/** What `discover` says about its captures. */
export interface DiscoveredFacts {
  readonly type: 'discovered'
  readonly captures: number
  /** Whose scheme it is: this package's own when it re-signed redacted captures. */
  readonly of: 'sender' | 'package'
  readonly redacted: number
  readonly warning?: string
}

/** `discover`: the result of the search. */
export type DiscoveredLine = DiscoveredFacts &
  (
    | (DiscoveredFit & {
        readonly result: 'found'
        /** Code to paste. */
        readonly code: string
        /** The id was seen with one event only: capture another before you use it. */
        readonly idIsGuess?: true
        readonly next?: string
      })
    | {
        readonly result: 'ambiguous'
        readonly fits: readonly DiscoveredFit[]
        /** Each of these headers is signed by itself, and either is enough. */
        readonly headers?: readonly string[]
      }
    | { readonly result: 'no-match' }
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
  | { readonly type: 'unchecked'; readonly name: 'secret' | 'to' | 'inbox' | 'exact bytes' }
  | {
      readonly type: 'probe'
      readonly name: string
      readonly guarantee: 'takes' | 'exact bytes' | 'refuses' | 'bounded'
      readonly holds: boolean
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
      readonly causes: readonly Cause[]
      readonly framework: Framework
    }
  /** What the probes left in the inbox of the app. */
  | {
      readonly type: 'left'
      readonly event: string
      readonly eventIds: readonly string[]
      readonly unreadable: number
      /** Where the inbox is within reach. */
      readonly entries?: readonly {
        readonly id: string
        readonly state: string
        readonly eventId?: string
      }[]
    }
