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

/** Conditions on entries; a condition that is left out matches every entry. */
export interface StoreQuery {
  readonly ids?: readonly string[]
  readonly states?: readonly EntryState[]
  readonly name?: string
  /** Entries in this lane or related to it; without a tenant it means that lane of each. */
  readonly lane?: string
  /** Entries whose lane ends with a dot and this tenant; empty for entries without a tenant. */
  readonly tenant?: string
  readonly since?: number
  /** Part of the id or the name, or one of these keys or lanes, of any tenant. */
  readonly text?: { readonly part: string; readonly keys: readonly string[] }
  readonly after?: string
  readonly oldestFirst?: boolean
  readonly limit: number
  readonly withBody?: boolean
}

/** Opens entries again that have ended, or wait for their retry: due at `now`, attempts from 1. */
export interface Reopening {
  readonly ids: readonly string[]
  readonly from: readonly EntryState[]
  readonly now: number
  /** Includes entries with the reason `CONFLICT` or `DISMISSED`. */
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
  /** Wait for a purge in another process (operators) instead of skipping (workers). */
  readonly waits?: boolean
}

export interface Purged {
  /** Payloads erased. */
  readonly erased: number
  /** Entries and keys deleted for good. */
  readonly deleted: number
  /** There may be more to erase, even if this page erased nothing. */
  readonly hasMore?: boolean
}

/** Asks for the latency of handlers, among the entries done since. */
export interface LatencyQuery {
  readonly since: number
  /** Milliseconds: the most that is counted as within. */
  readonly target: number
  /** Only the entries that were done last, at most this many. */
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
  /** When the newest entry was stored. */
  readonly newest?: number
  /** Present if the query asked for it; sorted by handler. */
  readonly latency?: readonly StoredLatency[]
}

export interface DonePlace {
  readonly settledAt: number
  readonly seq: number
}

export interface DoneEntry extends DonePlace {
  readonly id: string
  readonly lane: string
  readonly name?: string
}

/** Asks for entries that are done and not erased. */
export interface DoneQuery {
  readonly after: DonePlace
  /** Only entries of these lanes, without a tenant or with any. */
  readonly lanes?: readonly string[]
  readonly limit: number
}

export interface AdminStore {
  find(query: StoreQuery): Promise<readonly StoredEntry[]>
  /** Returns entries in order. It is called 100 times a second: it must read few rows. */
  findDone(query: DoneQuery): Promise<readonly DoneEntry[]>
  reopen(reopening: Reopening): Promise<number>
  /** A dead entry becomes skipped and its lane goes on; false when it was not dead. */
  dismiss(id: string, now: number): Promise<boolean>
  /**
   * Erases the payloads and failures of a lane, of related entries, and of the evidence of their
   * conflicts. A lane without a tenant means that lane of every tenant, or with `ofNone` only the
   * lane itself. Open entries are skipped; a leased entry is skipped, and holds its lane, until its
   * holder settles it or is gone. Afterwards the keys match any bytes. A store may commit page by
   * page, open entries first; a repeated call erases the rest.
   */
  forget(lane: string, now: number, ofNone?: boolean): Promise<number>
  /**
   * Erases payloads and failures past their retention. A dead entry that holds its lane stays until
   * it is redriven or dismissed. In a shared store one process at a time purges; the others wait or
   * get zeros.
   */
  purge(purge: Purge): Promise<Purged>
  /**
   * With `latency` it includes the latency of each handler that succeeded: from the occurrence of the
   * event, or its storing if the sender names no time, until the entry was done. Replays and erased
   * entries are left out. The percentile p is the least value that p % do not exceed.
   */
  stats(now: number, latency?: LatencyQuery): Promise<StoreStats>
}
