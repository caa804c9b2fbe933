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

/** All exit codes; the help documents them. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A failure; the last line of a run, except of `capture`, which continues. */
export type ErrorLine = JsonLine<
  'error',
  {
    code: string
    message: string
    /** The address of the page about the code, if there is one. */
    page?: string
  }
>

/** A file that cannot be read: of captures it is skipped. */
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
  readonly 'migrate code': MigrateCodeLine
  readonly 'migrate subscriptions': MigrateSubscriptionsLine
  readonly 'migrate status': MigrateStatusLine
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

/** `send` and `replay`: one response, one skipped capture, or the end. */
type SendLine =
  | JsonLine<'sent', SentFields & AnswerOutcome>
  /** `replay --resign`: a capture that did not verify when it was recorded. */
  | JsonLine<'left-out', { file: string; code?: string | undefined }>
  | JsonLine<'summary', Counts<'wanted' | 'sent' | 'taken' | 'refused' | 'failed'>>

interface SentFields {
  readonly index: number
  readonly name: string
  /** 0 without a response. */
  readonly status: number
  /** Why the request failed: ECONNREFUSED, TIMEOUT and the like. */
  readonly error?: string
  readonly milliseconds: number
  /** Present only with --show-payload. */
  readonly body?: string
}

/** `capture`: it listens, wrote a file, or ends. */
type CaptureLine =
  | JsonLine<'ready', { url: string; port: number; dir: string; raw: boolean }>
  | JsonLine<
      'capture',
      {
        file: string
        method: string
        bytes: number
        /** When it is an event name of the service. */
        event?: string | undefined
        /** When a secret is known. */
        verified?: boolean
        code?: string
        /** When it was forwarded. */
        answer?: { readonly status: number } & AnswerOutcome
      }
    >
  /** `lost` counts deliveries that could not be kept. */
  | JsonLine<'summary', Counts<'captures' | 'lost'>>

/** `sandbox`: it listens, something happened, or it ends. */
type SandboxLine =
  | JsonLine<
      'ready',
      {
        url: string
        baseUrl: string
        control: string
        apiKey: string
        seed: string | number
        vendor?: string
        /** The option `api` of the vendor's preset. */
        api?: object
        /** The public key of a vendor that signs with a key pair, as PEM. */
        publicKey?: string
        /** The secret is shown only if the sandbox generated it. */
      } & ({ secret: string } | { secretFrom: string })
    >
  | JsonLine<'verification', { id: string; status: string }>
  | JsonLine<'mail', { kind: string; verificationId: string }>
  | JsonLine<
      'delivery',
      {
        id: string
        event: string
        to: string
        status: string
        /** The status of the response, or why the request failed. */
        answer: number | string
        attempt: number
        /** The code in the response of a receiver. */
        code?: string
      }
    >
  /** A delivery that a fault dropped. */
  | JsonLine<'delivery', { event: string; status: string; attempts: number }>
  | JsonLine<'closed'>

/** `verify`: one capture. */
type VerifiedLine = JsonLine<
  'verified',
  { file: string; scheme: string; bytes: number } & (
    | { ok: true; secretId?: string | undefined }
    | { ok: false; code: string; diagnosis?: Diagnosis }
  )
>

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
  (
    | (DiscoveredFit & {
        readonly result: 'found'
        /** Code to paste. */
        readonly code: string
        /** True if only one event had the id: capture another event before you use it. */
        readonly idIsGuess?: true
        readonly next?: string
        /** Presets that verify the captures, as code: `vendors.onfido()`. */
        readonly presets?: readonly string[]
      })
    | SearchFailure
    | { readonly result: 'redacted' }
  )

/** `doctor`: what it examined, and the result. */
type DoctorLine =
  | JsonLine<'check', { name: string; state: 'ok' | 'warning' | 'failed'; message: string }>
  | JsonLine<'unchecked', { name: 'secret' | 'to' | 'inbox' | 'exact bytes' | 'clock' }>
  | JsonLine<
      'probe',
      {
        name: string
        guarantee: 'takes' | 'exact bytes' | 'refuses' | 'bounded'
        result: 'holds' | 'fails' | 'not provable'
        status: number
        error?: string
      } & AnswerOutcome
    >
  | JsonLine<'cause', { framework: Framework; cause: Cause; message: string; fix: string }>
  | JsonLine<
      'summary',
      Counts<'probes' | 'failed' | 'unproved'> & {
        causes: readonly Cause[]
        framework: Framework
      }
    >

/** `inbox list` and `inbox show`: an entry, without its delivery. */
type EntryLine = JsonLine<
  'entry',
  Omit<Entry, 'delivery'> & {
    /**
     * `inbox list`: the id of the earlier entry of the same entity whose retry this entry waits
     * for.
     */
    waitsFor?: string
    /** `inbox show`: the secret that signed it. */
    secretId?: string
    /** `inbox show`: the body as text, or as base64 when it is not text. */
    payload?: string
    masked?: boolean
    /** Present only with --show-payload. */
    headers?: readonly (readonly [name: string, value: string])[]
  }
>

/** `inbox move`; `source` and `target` are files, or addresses without user and password. */
type MovedLine = JsonLine<
  'moved',
  {
    source: string
    target: string
    state: 'moved' | 'planned'
    isResumed: boolean
    from: CopyTally
    to: CopyTally
  }
>

/** `migrate code`; `left` should have been changed and was not. */
type MigrateCodeLine =
  | JsonLine<'file', { file: string; edits: readonly Edit[]; written: boolean }>
  | JsonLine<'finding', { file: string } & Finding>
  | JsonLine<'unreadable' | 'left', { file: string; message: string }>
  | JsonLine<
      'summary',
      Counts<'changed' | 'names' | 'findings' | 'errors' | 'left'> & { written: boolean }
    >

type MigrateSubscriptionsLine =
  | JsonLine<
      'plan',
      { id: string; url: string; events: readonly string[] } & Omit<
        PlannedSubscription,
        'subscription'
      >
    >
  | JsonLine<'summary', Counts<'subscriptions' | 'legacy'>>
  | JsonLine<'step', SubscriptionStep>
  | JsonLine<'summary', Counts<'steps' | 'waiting'>>

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

/** `migrate status`; `days` (UTC) had events, and `unread` lines of outcomes could not be read. */
type MigrateStatusLine =
  | JsonLine<'evidence', { source: 'inbox' | 'log' } & Counts<'arrivals' | 'days' | 'unread'>>
  | JsonLine<'legacy', { source: 'inbox' | 'log' } & LegacyArrivals>
  | JsonLine<'status', { days: number } & MigrationVerdict>
