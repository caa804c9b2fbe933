// The lines of --json, by command. Output.record() takes these types alone, so the compiler keeps
// what a command prints and what its readers are promised the same.
import type { ReconcileProgress, ReconcileReport } from '../../src/client/index.ts'
import type { CopyTally, Entry, InboxStats, MoveProgress } from '../../src/inbox/index.ts'
import type { Diagnosis, SchemeDefinition } from '../../src/index.ts'
import type { AnswerOutcome } from './deliver.ts'
import type { Cause, Framework } from './doctor/advice.ts'
import type {
  MigrateCapturesLine,
  MigrateCodeLine,
  MigrateDataLine,
  MigrateStatusLine,
  MigrateSubscriptionsLine,
} from './records/migrating.ts'

/** A failure; the last line of a run, except of `capture`, which continues. */
export interface ErrorLine {
  readonly type: 'error'
  readonly code: string
  readonly message: string
  /** The address of the page about the code, if there is one. */
  readonly page?: string
}

/** A file of a folder that is not a capture and was skipped. */
export interface UnreadableLine {
  readonly type: 'unreadable'
  readonly file: string
  readonly message: string
}

/** The lines of every command, by its name, as values: with moments as dates. */
export interface LinesByCommand {
  readonly sandbox: SandboxLine
  readonly send: SendLine
  readonly capture: CaptureLine
  readonly replay: SendLine | UnreadableLine
  readonly verify: VerifiedLine | UnreadableLine
  readonly discover: DiscoveredLine | UnreadableLine
  readonly doctor: DoctorLine
  readonly reconcile: ReconcileLine
  readonly 'inbox list': EntryLine | InboxLine<'page'>
  readonly 'inbox show': EntryLine | InboxLine<'missing'>
  readonly 'inbox stats': InboxLine<'stats'>
  readonly 'inbox redrive': InboxLine<'redriven' | 'refused'>
  readonly 'inbox replay': InboxLine<'replayed' | 'refused'>
  readonly 'inbox dismiss': InboxLine<'dismissed' | 'refused'>
  readonly 'inbox forget': InboxLine<'forgotten' | 'summary'>
  readonly 'inbox purge': InboxLine<'purged'>
  readonly 'inbox move': InboxLine<'progress' | 'moved'>
  readonly 'inbox schema': InboxLine<'schema'>
  readonly 'migrate code': MigrateCodeLine
  readonly 'migrate subscriptions': MigrateSubscriptionsLine
  readonly 'migrate captures': MigrateCapturesLine | UnreadableLine
  readonly 'migrate data': MigrateDataLine
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
export type SendLine =
  | ({
      readonly type: 'sent'
      readonly index: number
      readonly name: string
      /** 0 without a response. */
      readonly status: number
      /** Why the request failed: ECONNREFUSED, TIMEOUT and the like. */
      readonly error?: string
      readonly milliseconds: number
      /** Only with --show-payload. */
      readonly body?: string
    } & AnswerOutcome)
  /** `replay --resign`: a capture that did not verify when it was recorded. */
  | { readonly type: 'left-out'; readonly file: string; readonly code?: string | undefined }
  | {
      readonly type: 'summary'
      readonly wanted: number
      readonly sent: number
      readonly taken: number
      readonly refused: number
      readonly failed: number
    }

/** `capture`: it listens, wrote a file, or ends. */
export type CaptureLine =
  | {
      readonly type: 'ready'
      readonly url: string
      readonly port: number
      readonly dir: string
      readonly raw: boolean
    }
  | {
      readonly type: 'capture'
      readonly file: string
      readonly method: string
      readonly bytes: number
      /** When it is an event name of the service. */
      readonly event?: string | undefined
      /** When a secret is known. */
      readonly verified?: boolean
      readonly code?: string
      /** When it was forwarded. */
      readonly answer?: { readonly status: number } & AnswerOutcome
    }
  /** `lost` counts deliveries that could not be kept. */
  | { readonly type: 'summary'; readonly captures: number; readonly lost: number }

/** `sandbox`: it listens, something happened, or it ends. */
export type SandboxLine =
  | ({
      readonly type: 'ready'
      readonly url: string
      readonly baseUrl: string
      readonly control: string
      readonly apiKey: string
      readonly seed: string | number
      /** The host that mail is sent by, when IDV_SMTP_URL is set. */
      readonly mailServer?: string
      /** The secret is shown only if the sandbox generated it. */
    } & ({ readonly secret: string } | { readonly secretFrom: string }))
  | { readonly type: 'verification'; readonly id: string; readonly status: string }
  | { readonly type: 'mail'; readonly kind: string; readonly transport: string }
  | {
      readonly type: 'delivery'
      readonly id: string
      readonly event: string
      readonly to: string
      readonly status: string
      /** The status of the response, or why the request failed. */
      readonly answer: number | string
      readonly attempt: number
      /** The code in the response of a receiver. */
      readonly code?: string
    }
  /** A delivery that a fault dropped; with --once, every delivery at the end. */
  | {
      readonly type: 'delivery'
      readonly event: string
      readonly status: string
      readonly attempts: number
    }
  | { readonly type: 'summary'; readonly deliveries: Readonly<Record<string, number>> }
  | { readonly type: 'closed' }

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

/** `inbox list` and `inbox show`: an entry, without its delivery. */
export type EntryLine = Omit<Entry, 'delivery'> & {
  readonly type: 'entry'
  /** `inbox list`: the id of an earlier entry about the same entity, for whose retry it waits. */
  readonly waitsFor?: string
  /** `inbox show`: the secret that signed it. */
  readonly secretId?: string
  /** `inbox show`: the body as text, or as base64 when it is not text. */
  readonly payload?: string
  readonly masked?: boolean
  /** Only with --show-payload. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
}

interface InboxLines {
  readonly page: { readonly entries: number; readonly cursor?: string }
  readonly missing: { readonly id: string }
  readonly stats: InboxStats
  readonly refused: { readonly id: string; readonly reason?: string }
  readonly redriven: Acted
  readonly replayed: Acted
  readonly dismissed: Acted
  readonly forgotten: { readonly entity: string; readonly payloads: number }
  readonly summary: { readonly entities: number; readonly of: number; readonly payloads: number }
  readonly progress: MoveProgress
  readonly moved: {
    /** Files, or addresses without user and password. */
    readonly source: string
    readonly target: string
    readonly state: 'moved' | 'planned'
    readonly isResumed: boolean
    readonly from: CopyTally
    readonly to: CopyTally
  }
  readonly schema: { readonly sql: string }
  readonly purged: { readonly erased: number; readonly deleted: number }
}

/** How many entries an action was done to, of how many chosen. */
interface Acted {
  readonly entries: number
  readonly of: number
}

/** `inbox`: every other line, by its type. */
export type InboxLine<Type extends keyof InboxLines> = Type extends keyof InboxLines
  ? { readonly type: Type } & InboxLines[Type]
  : never

/** `reconcile`: how far it has come, and the result. */
export type ReconcileLine =
  | ({ readonly type: 'progress' } & ReconcileProgress)
  /** It failed or was interrupted: what is in the inbox by then. */
  | { readonly type: 'stopped'; readonly added: number }
  | ({ readonly type: 'report' } & ReconcileReport)
