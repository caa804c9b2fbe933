// The port: what a store must do for the inbox. Policy stands above it, so a store decides
// nothing but what one commit can: is the key new, who holds the lease, what is a lane's head.
import type { EventSource } from '../protocol/events.ts'
import type { EntryFailure, EntryReason, EntryState } from './entry.ts'

/** What a store promises; a need that it cannot meet is an error at start. */
export interface StoreCapabilities {
  /** `entity`: one at a time and in arrival order for each lane. */
  readonly order: 'entity' | 'none'
  /** The worst that a kept entry survives. */
  readonly survives: 'power-cut' | 'restart' | 'nothing'
  /** The most days for which duplicates can be told. */
  readonly dedupeDays: number
  /** Whether `context.tx` is there: effects that commit together with their checkpoint. */
  readonly tx: boolean
}

/** What happened, hashed, and the name under which this entry tells of it. */
export interface Twin {
  readonly key: string
  readonly name: string
}

/** Opaque bytes and hashes of what arrived; times are milliseconds since the epoch. */
export interface NewEntry {
  readonly id: string
  /** What is handled one at a time and in order; that of a tenant is `<lane>.<tenant>`. */
  readonly lane: string
  /** Tells duplicates; the store's unique index decides. */
  readonly key?: string
  /** Each tells the same occurrence under another name: one that is known makes a duplicate. */
  readonly twins?: readonly Twin[]
  /** Tells the bytes of two deliveries with one key apart. */
  readonly digest: string
  /**
   * A second lane under which it can be found and forgotten. What one entry of a lane names, even
   * a twin that is a duplicate, all of them get that name none, those before it and those after,
   * for as long as the lane has any.
   */
  readonly related?: string
  readonly name?: string
  readonly receivedName?: string
  readonly source: EventSource
  readonly occurredAt?: number
  readonly storedAt: number
  readonly bytes: number
  readonly facts: Uint8Array
  readonly body: Uint8Array
}

/**
 * `conflict`: the key was there with other bytes. The new ones are kept as evidence in an entry of
 * their own, skipped for the reason `CONFLICT`; `id` is the entry that came first.
 */
export interface Inserted {
  readonly kind: 'stored' | 'duplicate' | 'conflict'
  readonly id: string
}

/** The right to settle one attempt; the fence grows with every claim and is never reused. */
export interface Lease {
  readonly id: string
  readonly fence: number
}

export interface Claimed extends Lease {
  readonly attempt: number
  readonly name?: string
  readonly source: EventSource
  readonly occurredAt?: number
  readonly storedAt: number
  /** Both are missing when the store has lost them: that is this entry's trouble, no other's. */
  readonly facts?: Uint8Array
  readonly body?: Uint8Array
  /** The handlers that have a checkpoint. */
  readonly handled: readonly string[]
  /** An earlier entry of the lane is dead. */
  readonly gap: boolean
  /** The latest that was done in this lane. */
  readonly mark?: Mark
}

/** The latest occurrence done in a lane, and whether one was done after which nothing comes. */
export interface Mark {
  readonly at?: number
  readonly final: boolean
}

export interface ClaimRequest {
  readonly now: number
  readonly limit: number
  /** When the leases lapse unless they are renewed. */
  readonly until: number
}

export interface ClaimResult {
  readonly entries: readonly Claimed[]
  /** When the next lane that waits is due. */
  readonly next?: number
}

/** How lanes are brought in line with the clock and the policy of whoever starts to claim. */
export interface Alignment {
  readonly now: number
  /** No retry is due later than this. */
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
}

interface Failed {
  readonly reason: EntryReason
  readonly failures: readonly EntryFailure[]
}

/** How an attempt ends. `released` gives the entry back, due at once, and counts no attempt. */
export type Settlement = Settled &
  (
    | { readonly to: 'done'; readonly mark?: Mark }
    | ({ readonly to: 'retry'; readonly due: number } & Failed)
    /** `hold`: the lane stops at this entry until it is redriven or dismissed. */
    | ({ readonly to: 'dead'; readonly hold: boolean } & Failed)
    | { readonly to: 'skipped'; readonly reason: EntryReason }
    | { readonly to: 'released' }
  )

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
  readonly facts?: Uint8Array
  readonly body?: Uint8Array
}

/** What must hold of the entries asked for; all that is left out holds of any. */
export interface StoreQuery {
  readonly ids?: readonly string[]
  readonly states?: readonly EntryState[]
  readonly name?: string
  /** In this lane or related to it; a lane without a tenant means that of any. */
  readonly lane?: string
  /** Whose lane ends with a dot and this. */
  readonly tenant?: string
  readonly since?: number
  /** Part of the id or the name, or one of these as its key or lane, of any tenant. */
  readonly text?: { readonly part: string; readonly keys: readonly string[] }
  /** Where the page before ended. */
  readonly after?: string
  /** Instead of the newest first. */
  readonly oldestFirst?: boolean
  readonly limit: number
  readonly withBody?: boolean
}

/** Opens ended entries again. */
export interface Reopening {
  readonly ids: readonly string[]
  readonly from: readonly EntryState[]
  readonly now: number
  /** Runs every handler again, whatever its checkpoint, as a replay. */
  readonly replay?: boolean
}

/** What is past its time; at most `limit` of each kind at once. */
export interface Purge {
  readonly doneBefore: number
  readonly deadBefore: number
  readonly keysBefore: number
  readonly limit: number
}

export interface Purged {
  /** Payloads erased. */
  readonly erased: number
  /** Entries and keys gone for good. */
  readonly deleted: number
}

export interface StoreStats {
  readonly counts: Readonly<Record<EntryState, number>>
  /** When the oldest of the entries was stored that stand at the head of a lane. */
  readonly oldest?: number
  /** Since when the longest waiting lane has been due. */
  readonly due?: number
}

/** The transaction of one run of one handler. */
export interface StoreTx<Tx = unknown> {
  /** What the handler gets as `context.tx`; its first use begins the transaction. */
  readonly handle: Tx
  /** The handler used it while another held the only transaction, and must run again. */
  readonly missed: boolean
  /** Milliseconds from its reservation, or else its making, to its first use; none without one. */
  readonly delay: number | undefined
  /**
   * Waits until no other handler has the transaction or a reservation, and keeps the others from it
   * until this one is over, or for so many milliseconds if it does not use it. Waits no longer than
   * `needed` says.
   */
  reserve(milliseconds?: number, needed?: () => boolean): Promise<void>
  /** Commits the effects with the handler's checkpoint; false when the lease was lost. */
  commit(): Promise<boolean>
  /** Undoes the effects; does nothing after a commit. */
  rollback(): Promise<void>
}

/** A store of entries; `Tx` is the handle of its transactions. Every promise resolves after the commit, or rejects when there was none. */
export interface InboxStore<Tx = unknown> {
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** Called once before all else; `wake` tells that there may be something to claim. */
  open(wake: () => void): Promise<void>
  close(): Promise<void>
  /** The value kept under a name; `initial` is kept and given where there was none. */
  recall(name: string, initial: Uint8Array): Promise<Uint8Array>
  remember(name: string, value: Uint8Array): Promise<void>
  /** Once `signal` is aborted nobody waits for it: where it is not yet on its way it is dropped. */
  insert(entry: NewEntry, signal?: AbortSignal): Promise<Inserted>
  claim(request: ClaimRequest): Promise<ClaimResult>
  /**
   * Before the first claim, and when the clock went back: what was stored by a clock that was ahead
   * is due now and no retry later than `latest`. A `stored` entry never waits for its own time.
   */
  align(alignment: Alignment): Promise<void>
  renew(leases: readonly Lease[], until: number): Promise<void>
  /** Leases past their time, or of an owner that is gone. */
  lapsed(now: number): Promise<readonly Lapsed[]>
  /** Each of these answers false when the lease was lost, and then changes nothing. */
  checkpoint(lease: Lease, handler: string): Promise<boolean>
  settle(settlement: Settlement): Promise<boolean>
  transaction?(lease: Lease, handler: string): StoreTx<Tx>
  find(query: StoreQuery): Promise<readonly StoredEntry[]>
  /** How many of them were opened. */
  reopen(reopening: Reopening): Promise<number>
  /** A dead entry becomes skipped and its lane goes on; false when it was not dead. */
  dismiss(id: string, now: number): Promise<boolean>
  /**
   * Erases the payloads of a lane and of what is related to it, of any tenant unless it names one;
   * open entries are skipped, those that are leased once their holder settles them, to whatever
   * end, or is gone: until then they hold their lane. From then on their keys fit any bytes.
   */
  forget(lane: string, now: number): Promise<number>
  /** Leaves a dead entry alone that holds its lane: only a person ends what it waits for. */
  purge(purge: Purge): Promise<Purged>
  stats(now: number): Promise<StoreStats>
}
