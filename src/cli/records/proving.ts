// The --json lines of the commands that prove and examine: verify, discover, doctor.
import type { Diagnosis, SchemeDefinition } from '../../index.ts'
import type { Framework } from '../doctor/framework.ts'
import type { Cause } from '../doctor/known-causes.ts'

/** `verify`: one capture. */
export type VerifiedRecord = {
  readonly type: 'verified'
  readonly file: string
  readonly scheme: string
  readonly bytes: number
} & (
  | { readonly ok: true; readonly secretId?: string }
  | { readonly ok: false; readonly code: string; readonly diagnosis?: Diagnosis }
)

/** A scheme that `discover` found, and which spelling of the body it signs. */
export interface DiscoveredFit {
  readonly scheme: SchemeDefinition
  /** `exact`, or how the signed bytes differ from those that arrived. */
  readonly body: string
}

/** `discover`: what came of the search. */
export type DiscoveredRecord = {
  readonly type: 'discovered'
  readonly captures: number
  /** Whose scheme it is: this package's own, where it has signed redacted captures again. */
  readonly of: 'sender' | 'package'
  readonly redacted: number
  readonly warning?: string
} & (
  | (DiscoveredFit & {
      readonly result: 'found'
      /** To paste. */
      readonly code: string
      /** The id was seen with one event only: capture one more before you use it. */
      readonly idIsGuess?: true
      readonly next?: string
    })
  | {
      readonly result: 'ambiguous'
      readonly fits: readonly DiscoveredFit[]
      /** Each of these is signed alone, and either is enough. */
      readonly headers?: readonly string[]
    }
  | { readonly result: 'no-match' }
  | { readonly result: 'no-signature'; readonly files: readonly string[] }
  | {
      readonly result: 'inexpressible'
      readonly header: string
      readonly why: readonly string[]
      readonly proved?: {
        readonly algorithm: string
        readonly encoding: string
        readonly signed: string
      }
    }
)

/** `doctor`: what it looked at, and what came of it. */
export type DoctorRecord =
  | {
      readonly type: 'check'
      readonly name: string
      readonly state: 'ok' | 'warning' | 'failed'
      readonly message: string
    }
  | { readonly type: 'unchecked'; readonly name: 'secret' | 'url' | 'inbox' | 'exact bytes' }
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
