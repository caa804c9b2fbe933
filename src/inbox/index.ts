export type {
  EntryPage,
  HandlerLatency,
  InboxLatency,
  InboxStats,
  StatsOptions,
} from './admin.ts'
export type * from './admin-store.ts'
export type { CopyRow, CopyStore, CopyTable, CopyTally, CopyValue } from './copy-store.ts'
export type { EncryptionKey, EncryptionOptions } from './encryption.ts'
export type { Arrival, Entry, EntryFailure, EntryReason, EntryState, Kept } from './entry.ts'
export type { EntryFilter, EntryQuery } from './entry-query.ts'
export { createInbox, type Inbox } from './inbox.ts'
export type { InboxOptions } from './inbox-options.ts'
export { type MoveOptions, type MoveProgress, type MoveReport, moveInbox } from './move.ts'
export type { RetentionDays } from './retention.ts'
export type { RetryOptions } from './retry.ts'
export type * from './store.ts'
export { memoryStore } from './stores/memory/memory.ts'
export type { WaitForOptions } from './waiters.ts'
export type * from './work-store.ts'
