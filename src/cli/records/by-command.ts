// Which lines each command prints under --json. Programs that read them import these types.
import type { EntryRecord, InboxRecord, ReconcileRecord } from './keeping.ts'
import type {
  MigrateCapturesRecord,
  MigrateCodeRecord,
  MigrateDataRecord,
  MigrateStatusRecord,
  MigrateSubscriptionsRecord,
} from './migrating.ts'
import type { DiscoveredRecord, DoctorRecord, VerifiedRecord } from './proving.ts'
import type {
  CapturedRecord,
  CaptureReady,
  CaptureSummary,
  SandboxReady,
  SandboxRecord,
  SentRecord,
  SentSummary,
} from './sending.ts'

/** The last line of a run that ended otherwise than it should; `capture` goes on after it. */
export interface ErrorRecord {
  readonly type: 'error'
  readonly code: string
  readonly message: string
}

/** A file of a folder that is no capture, and was left out. */
export interface UnreadableRecord {
  readonly type: 'unreadable'
  readonly file: string
  readonly message: string
}

/** The lines of every command, by how it is called. */
export interface RecordsByCommand {
  readonly sandbox: SandboxReady | SandboxRecord
  readonly send: SentRecord | SentSummary
  readonly capture: CaptureReady | CapturedRecord | CaptureSummary
  readonly replay: SentRecord | SentSummary | UnreadableRecord
  readonly verify: VerifiedRecord | UnreadableRecord
  readonly discover: DiscoveredRecord | UnreadableRecord
  readonly doctor: DoctorRecord
  readonly reconcile: ReconcileRecord
  readonly 'inbox list': EntryRecord | Extract<InboxRecord, { type: 'page' }>
  readonly 'inbox show': EntryRecord | Extract<InboxRecord, { type: 'missing' }>
  readonly 'inbox stats': Extract<InboxRecord, { type: 'stats' }>
  readonly 'inbox redrive': DeedRecord
  readonly 'inbox replay': DeedRecord
  readonly 'inbox dismiss': DeedRecord
  readonly 'inbox forget': Extract<InboxRecord, { type: 'forgotten' | 'summary' }>
  readonly 'inbox purge': Extract<InboxRecord, { type: 'purged' }>
  readonly 'migrate code': MigrateCodeRecord
  readonly 'migrate subscriptions': MigrateSubscriptionsRecord
  readonly 'migrate captures': MigrateCapturesRecord | UnreadableRecord
  readonly 'migrate data': MigrateDataRecord
  readonly 'migrate status': MigrateStatusRecord
  readonly config: SettingRecord
  readonly completion: {
    readonly type: 'completion'
    readonly shell: string
    readonly script: string
  }
}

/** `type` is a union in itself, so the deeds are told from the rest by what else they have. */
type DeedRecord = Exclude<
  InboxRecord,
  { type: 'page' | 'missing' | 'stats' | 'forgotten' | 'summary' | 'purged' }
>

/** `config`: a setting in effect; of a secret never its value. */
export interface SettingRecord {
  readonly type: 'setting'
  readonly key: string
  readonly value: string
  readonly source: 'environment' | 'file'
}

/** A line that a command prints under --json. */
export type CliRecord<Command extends keyof RecordsByCommand = keyof RecordsByCommand> =
  | RecordsByCommand[Command]
  | ErrorRecord
