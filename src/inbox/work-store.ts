// The part of the port that the receiver and the worker use: insert, claim, renew, settle.

import type { Decision } from '../dispatch/finality.ts'
import type { EventSource } from '../protocol/events.ts'
import type { EntryFailure, EntryReason } from './entry.ts'

/** A second key of an entry: what happened, hashed, and the name under which this entry tells it. */
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
  /** Tells the bytes of two deliveries with the same key apart. */
  readonly digest: string
  /**
   * A second lane under which the entry can be found and forgotten. Once any entry of a lane (even
   * a duplicate) has a related lane, every other entry of that lane inherits it, earlier and later
   * ones alike, for as long as the lane has entries.
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
 * `conflict`: the key is known with other bytes. Up to 8 a key are kept as evidence, in an entry of
 * their own, skipped with the reason `CONFLICT`; `id` is the entry that came first.
 */
export interface Inserted {
  readonly kind: 'stored' | 'duplicate' | 'conflict'
  readonly id: string
}

/** The right to settle one attempt; the fence grows with every claim and is never reused. */
export interface Lease {
  readonly id: string
  readonly fence: number
  /**
   * The owner of the claim, if several processes may own the store: compared beside the fence, which
   * a failover can give out a second time.
   */
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
  /** Both are missing when the store has lost them: that affects this entry alone. */
  readonly metadata?: Uint8Array
  readonly body?: Uint8Array
  /** The handlers that have a checkpoint. */
  readonly handled: readonly string[]
  /** Handlers that failed at the attempt before, if any; a crash or a drain leaves them known. */
  readonly failed?: readonly string[]
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
   * The last decision of the entity, kept as it is given; a later settlement without one leaves it.
   * Only senders whose decisions may be replaced have one.
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
  /** A retry that is due later than this was set by another clock: nothing is known of its wait. */
  readonly latest: number
  /** Lanes that a dead entry holds go on. */
  readonly free: boolean
}

/** A lease whose holder is gone. */
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
  /** It settles what a crash left, as others may: false where one of them did, though alike. */
  readonly sweeps?: boolean
}

interface Failed {
  readonly reason: EntryReason
  readonly failures: readonly EntryFailure[]
}

/**
 * How an attempt ends. `released` gives the entry back, due at once, and counts no attempt; its
 * failures, where there are any, replace those that are known.
 */
export type Settlement = Settled &
  (
    | { readonly to: 'done'; readonly highWaterMark?: HighWaterMark }
    | ({ readonly to: 'retry'; readonly due: number } & Failed)
    /**
     * `hold`: the lane stops at this entry until it is redriven or dismissed, but for a lane of its
     * own (`isOwnLane`), where it would stop its own erasure alone.
     */
    | ({ readonly to: 'dead'; readonly hold: boolean } & Failed)
    | { readonly to: 'skipped'; readonly reason: EntryReason }
    | { readonly to: 'released'; readonly failures?: readonly EntryFailure[] }
  )

/** An entry that is leased, as it would have been stored if it had been read when it arrived. */
export interface Assignment {
  readonly lease: Lease
  readonly at: number
  /** With the id of the lease. */
  readonly entry: NewEntry
}

/**
 * `stored`: it waits at its place in its lane, due at once, and the attempt does not count.
 * `duplicate`: another entry stands for it, so it is skipped as `FORGOTTEN`, without its payload.
 * `conflict`: another has its key with other bytes, so it is skipped as `CONFLICT`, as evidence in
 * its lane, or as a duplicate where there is enough of that. `lost`: the lease was lost, and
 * nothing has changed.
 */
export type Assigned = 'stored' | 'duplicate' | 'conflict' | 'lost'

/** The transaction of one run of one handler. */
export interface StoreTx<Tx = unknown> {
  /** The value of `context.tx`; its first use begins the transaction. */
  readonly handle: Tx
  /** Commits the effects with the handler's checkpoint; false when the lease was lost. */
  commit(): Promise<boolean>
  /** Undoes the effects, and ends the turn; does nothing after a commit. */
  rollback(): Promise<void>
}

/** The part of a store that the receiver and the worker use. */
export interface WorkStore<Tx = unknown> {
  /**
   * The store orders a lane by its commits: an entry that commits later must not come to stand
   * before one that was already handed out. Once `signal` is aborted nobody waits for the answer:
   * an insert that has not been sent yet is dropped.
   */
  insert(entry: NewEntry, signal?: AbortSignal): Promise<Inserted>
  /**
   * Leases the heads of lanes that are due, the longest waiting first. Where the answer is lost,
   * the store returns what it has leased to its lanes without counting an attempt.
   */
  claim(request: ClaimRequest): Promise<ClaimResult>
  /**
   * Before a time is read by `now` for a claim: learns it again where the process may have been
   * frozen, as a function is between its runs.
   */
  refresh?(): Promise<void>
  /**
   * Called before the first claim, and when the clock went back: what was stored by a clock that
   * was ahead is due now, and so is a retry that is due later than `latest`. A `stored` entry never
   * waits for its own time.
   */
  align(alignment: Alignment): Promise<void>
  /**
   * Frees the lanes that dead entries hold, as `align` does. Called at each look for leases, so it
   * must cost little where there are none: a shared store that lacks it frees them at a start alone.
   */
  free?(now: number): Promise<void>
  renew(leases: readonly Lease[], until: number): Promise<void>
  /** Leases past their time, or of an owner that is gone. */
  lapsed(now: number): Promise<readonly Lapsed[]>
  /**
   * False when the lease was lost; then nothing has changed. Without a handler it only tells whether
   * the lease holds.
   */
  checkpoint(lease: Lease, handler?: string): Promise<boolean>
  /**
   * False when the lease was lost; then nothing has changed. The same settlement again answers
   * true, and changes nothing, for as long as nothing else has moved the entry.
   */
  settle(settlement: Settlement): Promise<boolean>
  /**
   * Ends the attempt at an entry that could not be read when it arrived, or not as what it is: gives
   * it its lane, relation, name, times and content, and its keys beside those that it has.
   */
  assign(assignment: Assignment): Promise<Assigned>
  /**
   * Resolves when it is this handler's turn; `commit` or `rollback` ends the turn. Rejects where the
   * lease is known to be lost by then.
   */
  transaction?(lease: Lease, handler: string): Promise<StoreTx<Tx>>
}
