export { type ExitCode, exitCodes } from './exit-code.ts'
export type {
  CliRecord,
  ErrorRecord,
  RecordsByCommand,
  SettingRecord,
} from './records/by-command.ts'
export type { EntryRecord, InboxRecord, ReconcileRecord } from './records/keeping.ts'
export type {
  MigrateCapturesRecord,
  MigrateCodeRecord,
  MigrateDataRecord,
  MigrateStatusRecord,
  MigrateSubscriptionsRecord,
} from './records/migrating.ts'
export type {
  DiscoveredFit,
  DiscoveredRecord,
  DoctorRecord,
  VerifiedRecord,
} from './records/proving.ts'
export type {
  CapturedRecord,
  CaptureReady,
  CaptureSummary,
  SandboxReady,
  SandboxRecord,
  SentRecord,
  SentSummary,
} from './records/sending.ts'
