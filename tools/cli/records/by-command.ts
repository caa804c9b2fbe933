// The lines of --json, by command. Output.record() takes these types alone, so the compiler keeps
// what a command prints and what its readers are promised the same.
import type { EntryLine, InboxLine, ReconcileLine } from './keeping.ts'
import type {
  MigrateCapturesLine,
  MigrateCodeLine,
  MigrateDataLine,
  MigrateStatusLine,
  MigrateSubscriptionsLine,
} from './migrating.ts'
import type { DiscoveredLine, DoctorLine, VerifiedLine } from './proving.ts'
import type { CaptureLine, SandboxLine, SendLine } from './sending.ts'

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

/** `config`: a setting in effect; the value of a secret is never shown. */
export interface SettingLine {
  readonly type: 'setting'
  readonly key: string
  readonly value: string
  readonly source: 'environment' | 'file'
}

/** `completion`: the script. */
export interface CompletionLine {
  readonly type: 'completion'
  readonly shell: string
  readonly script: string
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
  readonly config: SettingLine
  readonly completion: CompletionLine
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
