// The lines of --json, by command. Output.record() takes only these types, so what a command prints
// and what its documentation promises cannot differ.
import type {
  PlannedSubscription,
  ReconcileProgress,
  ReconcileReport,
  SubscriptionStep,
} from '../../src/client/index.ts'
import type { CopyTally, Entry, InboxStats, MoveProgress } from '../../src/inbox/index.ts'
import type { Diagnosis, SchemeDefinition } from '../../src/index.ts'
import type { AnswerOutcome } from './deliver.ts'
import type { Cause, Framework } from './doctor/advice.ts'
import type { Edit, Finding } from './migrate/rewrite.ts'

/** A line, by its type, as a value: with dates. */
type JsonLine<Type extends string, Fields = unknown> = { readonly type: Type } & Readonly<Fields>
type Counts<Name extends string> = Readonly<Record<Name, number>>
type Strings<Name extends string> = Readonly<Record<Name, string>>

export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A failure, with the address of a page about its code; `capture` continues after it. */
export type ErrorLine = JsonLine<'error', { code: string; message: string; page?: string }>

/** A capture that was skipped, or a source file that was not changed. */
type UnreadableLine = JsonLine<'unreadable', { file: string; message: string }>
/** An entry that an action does not apply to. */
type RefusedLine = JsonLine<'refused', { id: string; reason?: string }>
/** The number of entries that an action changed, of those chosen. */
type Acted = Counts<'entries' | 'of'>

/** The lines of every command, by its name, as values. */
export interface LinesByCommand {
  readonly sandbox: SandboxLine
  readonly send: SendLine
  readonly capture: CaptureLine
  readonly replay: SendLine | UnreadableLine
  readonly verify: VerifiedLine | UnreadableLine
  readonly discover: DiscoveredLine | UnreadableLine
  readonly doctor: DoctorLine
  readonly reconcile:
    | JsonLine<'progress', ReconcileProgress>
    /** The command failed or was interrupted: these entries were added before. */
    | JsonLine<'stopped', Counts<'added'>>
    | JsonLine<'report', ReconcileReport>
  readonly 'inbox list': EntryLine | JsonLine<'page', { entries: number; cursor?: string }>
  readonly 'inbox show': EntryLine | JsonLine<'missing', { id: string }>
  readonly 'inbox stats': JsonLine<'stats', InboxStats>
  readonly 'inbox redrive': JsonLine<'redriven', Acted> | RefusedLine
  readonly 'inbox replay': JsonLine<'replayed', Acted> | RefusedLine
  readonly 'inbox dismiss': JsonLine<'dismissed', Acted> | RefusedLine
  readonly 'inbox forget':
    | JsonLine<'forgotten', { entity: string; payloads: number }>
    | JsonLine<'summary', Counts<'entities' | 'of' | 'payloads'>>
  readonly 'inbox move': JsonLine<'progress', MoveProgress> | MovedLine
  readonly 'inbox schema': JsonLine<'schema', { sql: string }>
  readonly 'migrate code':
    | JsonLine<'file', { file: string; edits: readonly Edit[]; written: boolean }>
    | JsonLine<'finding', { file: string } & Finding>
    | UnreadableLine
    | JsonLine<'left', { file: string; message: string }>
    | JsonLine<'summary', CodeCounts & { written: boolean }>
  readonly 'migrate subscriptions':
    | JsonLine<'plan', Planned>
    | JsonLine<'summary', Counts<'subscriptions' | 'legacy'>>
    | JsonLine<'step', SubscriptionStep>
    | JsonLine<'summary', Counts<'steps' | 'waiting'>>
  /** `days` (UTC) had events, and `unread` lines of outcomes could not be read. */
  readonly 'migrate status':
    | JsonLine<'evidence', ArrivalSource & Counts<'arrivals' | 'days' | 'unread'>>
    | JsonLine<'legacy', ArrivalSource & LegacyArrivals>
    | JsonLine<'status', { days: number } & MigrationVerdict>
}

/** Any line, as a value. */
export type CliLine = LinesByCommand[keyof LinesByCommand] | ErrorLine

/** A value after JSON: dates are ISO 8601 text. */
type AsJson<Value> = Value extends Date
  ? string
  : Value extends object
    ? { readonly [Key in keyof Value]: AsJson<Value[Key]> }
    : Value

/** A line that a command prints under --json, for programs that read it. */
export type CliRecord<Command extends keyof LinesByCommand = keyof LinesByCommand> = AsJson<
  LinesByCommand[Command] | ErrorLine
>

/** `send` and `replay`: a response (status 0 without one), a capture left unsigned, or the end. */
type SendLine =
  | JsonLine<'sent', SentFields & AnswerOutcome>
  | JsonLine<'left-out', { file: string; code?: string | undefined }>
  | JsonLine<'summary', Counts<'wanted' | 'sent' | 'taken' | 'refused' | 'failed'>>

/** `error` is ECONNREFUSED, TIMEOUT and the like; `body` is present only with --show-payload. */
type SentFields = Counts<'index' | 'status' | 'milliseconds'> &
  Strings<'name'> & { readonly error?: string; readonly body?: string }

/** `capture`: it listens, wrote a file, or ends; `lost` counts deliveries that could not be kept. */
type CaptureLine =
  | JsonLine<'ready', { url: string; port: number; dir: string; raw: boolean }>
  | JsonLine<'capture', Strings<'file' | 'method'> & Counts<'bytes'> & Partial<CaptureExtras>>
  | JsonLine<'summary', Counts<'captures' | 'lost'>>

interface CaptureExtras {
  /** When it is an event name of the service. */
  readonly event: string | undefined
  /** When a secret is known. */
  readonly verified: boolean
  readonly code: string
  /** When it was forwarded. */
  readonly answer: { readonly status: number } & AnswerOutcome
}

/** `sandbox`: it listens, something happened, or it ends. A dropped delivery has no attempt. */
type SandboxLine =
  | JsonLine<'ready', Strings<'url' | 'baseUrl' | 'control' | 'apiKey'> & SandboxExtras>
  | JsonLine<'verification', Strings<'id' | 'status'>>
  | JsonLine<'mail', Strings<'kind' | 'verificationId'>>
  | JsonLine<'delivery', Strings<'id' | 'event' | 'to' | 'status'> & SandboxAttempt>
  | JsonLine<'delivery', Strings<'event' | 'status'> & Counts<'attempts'>>
  | JsonLine<'closed'>

/** `api` is the option of the vendor's preset. The secret is shown only if the sandbox made it. */
type SandboxExtras = {
  readonly seed: string | number
  readonly vendor?: string
  readonly api?: object
  /** The public key of a vendor that signs with a key pair, as PEM. */
  readonly publicKey?: string
} & (Strings<'secret'> | Strings<'secretFrom'>)

interface SandboxAttempt {
  /** The status of the response, or why the request failed. */
  readonly answer: number | string
  readonly attempt: number
  /** The code in the response of a receiver. */
  readonly code?: string
}

/** `verify`: one capture. */
type VerifiedLine = JsonLine<'verified', Strings<'file' | 'scheme'> & Counts<'bytes'>> &
  (
    | { readonly ok: true; readonly secretId?: string | undefined }
    | { readonly ok: false; readonly code: string; readonly diagnosis?: Diagnosis }
  )

/** A scheme that signs the bytes as they arrived. */
interface DiscoveredFit {
  readonly scheme: SchemeDefinition
  readonly body: 'exact'
}

/** The result of a search that found not exactly one scheme. */
export type SearchFailure =
  | {
      readonly result: 'ambiguous'
      readonly fits: readonly DiscoveredFit[]
      /** Each of these headers is signed separately, and either is enough. */
      readonly headers?: readonly string[]
    }
  | { readonly result: 'no-match' }
  /** These captures have no header that could be a signature. */
  | { readonly result: 'no-signature'; readonly files: readonly string[] }

/** `discover`: the result of the search, and how many captures it searched or skipped. */
type DiscoveredLine = JsonLine<'discovered', Counts<'captures' | 'redacted'>> &
  (DiscoveredScheme | SearchFailure | { readonly result: 'redacted' })

interface DiscoveredScheme extends DiscoveredFit {
  readonly result: 'found'
  /** Code to paste. */
  readonly code: string
  /** True if only one event had the id: capture another event before you use it. */
  readonly idIsGuess?: true
  readonly next?: string
  /** Presets that verify the captures, as code: `vendors.onfido()`. */
  readonly presets?: readonly string[]
}

/** `doctor`: what it examined, and the result. */
type DoctorLine =
  | JsonLine<'check', DoctorCheck>
  | JsonLine<'unchecked', { name: 'secret' | 'to' | 'inbox' | 'exact bytes' | 'clock' }>
  | JsonLine<'probe', ProbeFields & AnswerOutcome>
  | JsonLine<'cause', { framework: Framework; cause: Cause; message: string; fix: string }>
  | JsonLine<'summary', Counts<'probes' | 'failed' | 'unproved'> & DoctorCauses>

/** A check of the environment. */
export interface DoctorCheck {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
}

interface ProbeFields {
  readonly name: string
  readonly guarantee: 'takes' | 'exact bytes' | 'refuses' | 'bounded'
  readonly result: 'holds' | 'fails' | 'not provable'
  readonly status: number
  readonly error?: string
}

interface DoctorCauses {
  readonly causes: readonly Cause[]
  readonly framework: Framework
}

/** `inbox list` and `inbox show`: an entry, without its delivery. */
type EntryLine = JsonLine<'entry', Omit<Entry, 'delivery'> & EntryExtras>

interface EntryExtras {
  /** `inbox list`: the id of the earlier entry of its entity whose retry this entry waits for. */
  readonly waitsFor?: string
  /** `inbox show`: the secret that signed it. */
  readonly secretId?: string
  /** `inbox show`: the body as text, or as base64 when it is not text. */
  readonly payload?: string
  readonly masked?: boolean
  /** Present only with --show-payload. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
}

/** `inbox move`; `source` and `target` are files, or addresses without user and password. */
type MovedLine = JsonLine<'moved', Strings<'source' | 'target'> & MovedExtras>

interface MovedExtras {
  readonly state: 'moved' | 'planned'
  readonly isResumed: boolean
  readonly from: CopyTally
  readonly to: CopyTally
}

type CodeCounts = Counts<'changed' | 'names' | 'findings' | 'errors' | 'left'>
type Planned = Omit<PlannedSubscription, 'subscription'> &
  Pick<PlannedSubscription['subscription'], 'id' | 'url' | 'events'>
type ArrivalSource = { readonly source: 'inbox' | 'log' }

/** The arrivals of one legacy name with one secret; each subscription has its own secret. */
export interface LegacyArrivals {
  readonly receivedName: string
  readonly name: string
  readonly secretId?: string
  readonly arrivals: number
  readonly lastSeen: Date
}

/** The conclusion from all sources. */
export interface MigrationVerdict {
  readonly safe: boolean
  /** Days with events since the last legacy name. */
  readonly quietDays: number
  readonly lastSeen?: Date
  readonly unread: number
}
