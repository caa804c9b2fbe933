// The part of the port that the receiver and the worker use: insert, claim, renew, settle.

import type { Decision } from '../dispatch/finality.ts'
import type { EventSource } from '../protocol/events.ts'
import type { EntryFailure, EntryReason } from './entry.ts'

/** A second key of an entry: the hashed occurrence, and the name under which the entry reports it. */
export interface Alias {
  readonly key: string
  readonly name: string
}

/** Opaque bytes and hashes of what arrived; times are milliseconds since the epoch. */
export interface NewEntry {
  readonly id: string
  /**
   * The lane is the ordering key (SQS: message group): its entries are handled one at a time and
   * in arrival order. The lane of a tenant is `<lane>.<tenant>`.
   */
  readonly lane: string
  /** Detects duplicates; the store's unique index decides. */
  readonly key?: string
  /** A known alias under another name makes this entry a duplicate. */
  readonly aliases?: readonly Alias[]
  /** Distinguishes the bytes of two deliveries with the same key. */
  readonly digest: string
  /**
   * A second lane under which the entry can be found and forgotten. Once any entry of a lane (even
   * a duplicate) has a related lane, every entry of that lane inherits it, for as long as the lane
   * has entries.
   */
  readonly related?: string
  readonly name?: string
  readonly receivedName?: string
  readonly source: EventSource
  readonly occurredAt?: number
  readonly storedAt: number
  readonly bytes: number
  readonly metadata: Uint8Array
  readonly body: Uint8Array
}

/**
 * `conflict`: the key is known with other bytes. Up to 8 bodies a key are kept as evidence, each in
 * its own entry, skipped with the reason `CONFLICT`; `id` is the entry that came first.
 */
export interface Inserted {
  readonly kind: 'stored' | 'duplicate' | 'conflict'
  readonly id: string
}

/** The right to settle one attempt; the fence grows with every claim and is never reused. */
export interface Lease {
  readonly id: string
  readonly fence: number
  /** The owner of the claim in a shared store: a failover can give out a fence a second time. */
  readonly owner?: number
}

export interface Claimed extends Lease {
  readonly attempt: number
  /** Its place in the order of arrival: later entries of a lane have larger ones. */
  readonly seq: number
  readonly name?: string
  readonly source: EventSource
  readonly occurredAt?: number
  readonly storedAt: number
  /** Both are missing if the store has lost them: that affects this entry only. */
  readonly metadata?: Uint8Array
  readonly body?: Uint8Array
  readonly handled: readonly string[]
  /** Handlers that failed at the attempt before; a crash or a drain keeps them. */
  readonly failed?: readonly string[]
  /** No other open entry is in its lane; if absent, a worker claims again once it has settled. */
  readonly isLast?: true
  /** An earlier entry of the lane is dead. */
  readonly gap: boolean
  /** The latest occurrence that was done in this lane. */
  readonly highWaterMark?: HighWaterMark
}

/** The latest occurrence done in a lane, and whether an event was done that ends its entity. */
export interface HighWaterMark {
  readonly at?: number
  readonly final: boolean
  /**
   * The last decision of the entity; a later settlement without a decision keeps it. Only senders
   * with reversible decisions have one.
   */
  readonly decision?: Decision
}

export interface ClaimRequest {
  readonly now: number
  readonly limit: number
  /** When the leases lapse unless they are renewed. */
  readonly until: number
}

export interface ClaimResult {
  readonly entries: readonly Claimed[]
  /** When the next waiting lane is due. */
  readonly next?: number
}

/** How lanes are aligned with the clock and the policy of the process that starts to claim. */
export interface Alignment {
  readonly now: number
  /** A retry that is due later was set by another clock or plan: it is due now. */
  readonly latest: number
  /** Releases lanes that a dead entry holds. */
  readonly free: boolean
}

export interface Lapsed extends Lease {
  readonly attempt: number
  readonly name?: string
  readonly storedAt: number
}

interface Settled {
  readonly lease: Lease
  readonly at: number
  /** Handlers that have succeeded and have no checkpoint yet. */
  readonly handled: readonly string[]
  /** Settles an entry after a crash: false if another process has done so, even alike. */
  readonly sweeps?: boolean
}

interface Failed {
  readonly reason: EntryReason
  readonly failures: readonly EntryFailure[]
}

/**
 * How an attempt ends. `released` gives the entry back, due at once, and counts no attempt; its
 * failures, if any, replace the known ones.
 */
export type Settlement = Settled &
  /** `name`: handlers got the event under this name, because a vendor's API gave its decision. */
  (
    | { readonly to: 'done'; readonly highWaterMark?: HighWaterMark; readonly name?: string }
    | ({ readonly to: 'retry'; readonly due: number } & Failed)
    /**
     * `hold`: the lane stops at this entry until it is redriven or dismissed. A lane of its own
     * (`isOwnLane`) is not held: that would only stop its own erasure.
     */
    | ({ readonly to: 'dead'; readonly hold: boolean } & Failed)
    | { readonly to: 'skipped'; readonly reason: EntryReason }
    | { readonly to: 'released'; readonly failures?: readonly EntryFailure[] }
  )

export interface Assignment {
  readonly lease: Lease
  readonly at: number
  readonly entry: NewEntry
}

/**
 * `stored`: it waits at its place in its lane, due at once, and the attempt does not count.
 * `duplicate`: another entry has its key, so it is skipped as `FORGOTTEN`, without its payload.
 * `conflict`: another entry has its key with other bytes, so it is skipped as `CONFLICT`, or as a
 * duplicate if there is enough evidence. `lost`: the lease was lost, and nothing has changed.
 */
export type Assigned = 'stored' | 'duplicate' | 'conflict' | 'lost'

export interface StoreTx<Tx = unknown> {
  /** The value of `context.tx`; its first use begins the transaction. */
  readonly handle: Tx
  /** Commits the effects with the handler's checkpoint; false when the lease was lost. */
  commit(): Promise<boolean>
  /** Undoes the effects, and ends the turn; does nothing after a commit. */
  rollback(): Promise<void>
}

export interface WorkStore<Tx = unknown> {
  /**
   * The store orders a lane by its commits: an entry that commits later must not precede an entry
   * that was already claimed. Once `signal` is aborted the caller is gone: drop an insert that was
   * not sent.
   */
  insert(entry: NewEntry, signal?: AbortSignal): Promise<Inserted>
  /** Inserts several entries in one commit, in their order. */
  insertAll(entries: readonly NewEntry[], signal?: AbortSignal): Promise<readonly Inserted[]>
  /**
   * Leases the heads of lanes that are due, the longest waiting first. If the answer is lost, the
   * store returns the leased entries to their lanes without counting an attempt.
   */
  claim(request: ClaimRequest): Promise<ClaimResult>
  /** Reads the time again if the process may have been suspended; called before a claim. */
  refresh?(): Promise<void>
  /**
   * Called before the first claim. Entries that were stored by a clock that was ahead are due now, and
   * so is a retry that is due later than `latest`.
   */
  align(alignment: Alignment): Promise<void>
  /**
   * Releases the lanes that dead entries hold, as `align` does. Called at each sweep, so it must be
   * cheap; a shared store without it releases them only at a start.
   */
  free?(now: number): Promise<void>
  renew(leases: readonly Lease[], until: number): Promise<void>
  /** Leases that have expired, or whose owner is gone. */
  lapsed(now: number): Promise<readonly Lapsed[]>
  /** False if the lease was lost; then nothing has changed. The handler may be left out. */
  checkpoint(lease: Lease, handler?: string): Promise<boolean>
  /**
   * False if the lease was lost; then nothing has changed. A repeated settlement answers true and
   * changes nothing, as long as nothing else has moved the entry.
   */
  settle(settlement: Settlement): Promise<boolean>
  /** Gives an entry that could not be parsed on arrival its lane and keys; ends the attempt. */
  assign(assignment: Assignment): Promise<Assigned>
  /** Resolves when it is the handler's turn; rejects if the lease is lost by then. */
  transaction?(lease: Lease, handler: string): Promise<StoreTx<Tx>>
}
