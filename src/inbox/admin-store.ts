// The part of the port that operators and retention use: find, redrive, dismiss, forget, purge.
import type { EventSource } from '../protocol/events.ts'
import type { EntryFailure, EntryReason, EntryState } from './entry.ts'

/** An entry as the store holds it, without its body unless that was asked for. */
export interface StoredEntry {
  readonly id: string
  readonly state: EntryState
  readonly source: EventSource
  readonly name?: string
  readonly receivedName?: string
  readonly occurredAt?: number
  readonly storedAt: number
  readonly attempt: number
  readonly due?: number
  readonly settledAt?: number
  readonly reason?: EntryReason
  readonly failures: readonly EntryFailure[]
  readonly handled: readonly string[]
  readonly generation: number
  readonly conflictOf?: string
  readonly bytes: number
  readonly metadata?: Uint8Array
  readonly body?: Uint8Array
}

/** Conditions on entries; what is left out matches every entry. */
export interface StoreQuery {
  readonly ids?: readonly string[]
  readonly states?: readonly EntryState[]
  readonly name?: string
  /** In this lane or related to it; a lane without a tenant means that lane of every tenant. */
  readonly lane?: string
  /** Entries whose lane ends with a dot and this; empty for those whose lane has no dot. */
  readonly tenant?: string
  readonly since?: number
  /** Part of the id or the name, or one of these keys or lanes, of any tenant. */
  readonly text?: { readonly part: string; readonly keys: readonly string[] }
  /** The id of the last entry of the previous page. */
  readonly after?: string
  /** Oldest first instead of newest first. */
  readonly oldestFirst?: boolean
  readonly limit: number
  readonly withBody?: boolean
}

/** Opens entries again that have ended, or wait for their retry: due at `now`, attempts from 1. */
export interface Reopening {
  readonly ids: readonly string[]
  readonly from: readonly EntryState[]
  readonly now: number
  /** Whether entries with the reason `CONFLICT` or `DISMISSED` are among them; others leave them out. */
  readonly setAside?: boolean
  /** Runs every handler again as a replay, checkpoints or not. */
  readonly replay?: boolean
}

/** Deletes entries past their retention; at most `limit` of each kind at once. */
export interface Purge {
  readonly doneBefore: number
  readonly deadBefore: number
  readonly keysBefore: number
  readonly limit: number
  /** Whether the purge of another process is waited for: an operator's erases what no other does. */
  readonly waits?: boolean
}

export interface Purged {
  /** Payloads erased. */
  readonly erased: number
  /** Entries and keys deleted for good. */
  readonly deleted: number
  /** There may be more to go, even where nothing of the above was left. */
  readonly hasMore?: boolean
}

/** Asks for the latency of handlers, among the entries done since. */
export interface LatencyQuery {
  readonly since: number
  /** Milliseconds: the most that is counted as within. */
  readonly target: number
  /** Only this many entries, the ones that were done last. */
  readonly limit: number
}

/** Milliseconds from occurrence to done, of the entries that a handler took part in. */
export interface StoredLatency {
  readonly handler: string
  readonly entries: number
  readonly within: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly longest: number
}

export interface StoreStats {
  readonly counts: Readonly<Record<EntryState, number>>
  /** When the oldest entry at the head of a lane was stored. */
  readonly oldest?: number
  /** Since when the longest waiting lane has been due. */
  readonly due?: number
  /** When the newest of the entries was stored that still exist. */
  readonly newest?: number
  /** Where it was asked for; sorted by handler. */
  readonly latency?: readonly StoredLatency[]
}

/** The part of a store that operators use. */
export interface AdminStore {
  find(query: StoreQuery): Promise<readonly StoredEntry[]>
  /** Resolves with the number of entries that were opened. */
  reopen(reopening: Reopening): Promise<number>
  /** A dead entry becomes skipped and its lane goes on; false when it was not dead. */
  dismiss(id: string, now: number): Promise<boolean>
  /**
   * Erases the payloads and failures of a lane, of what is related to it and of the evidence of
   * their conflicts: of every tenant unless the lane names one, or of none where only that is meant.
   * Open entries are skipped; leased ones once their holder settles them, in whatever way, or is
   * gone: until then they hold their lane. Afterwards their keys match any bytes.
   * A store may commit page by page, once it has skipped what is open: repeated after a failure it
   * erases the rest.
   */
  forget(lane: string, now: number, ofNone?: boolean): Promise<number>
  /**
   * Erases payloads and failures past their time. A dead entry that holds its lane stays: only a
   * person ends that. In a shared store one process at a time purges; the others wait or get zeros.
   */
  purge(purge: Purge): Promise<Purged>
  /**
   * With `latency` also that of each handler that has succeeded: from the occurrence of the event,
   * or its storing where the sender names no time, until the entry was done. Replays and erased
   * entries are left out. The percentile p is the least value that p % do not exceed.
   */
  stats(now: number, latency?: LatencyQuery): Promise<StoreStats>
}
