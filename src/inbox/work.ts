// The inbox as a worker sees it: claimed entries, how an attempt at one may end, and what a worker
// asks for.

import type { VerifiedDelivery } from '../delivery.ts'
import type { Decision } from '../dispatch/finality.ts'
import type { Placed } from '../foundation/bag.ts'
import type { Clock } from '../foundation/clock.ts'
import type { EventSource } from '../protocol/events.ts'
import type { Arrival, EntryFailure, EntryReason } from './entry.ts'
import type { Operations } from './operations.ts'
import type { HighWaterMark, Lease, Settlement, StoreTx } from './work-store.ts'
import type { WorkerWatch } from './worker-watch.ts'

/** One claimed entry, ready to be handled. */
export interface Work extends Placed {
  readonly lease: Lease
  readonly attempt: number
  readonly source: EventSource
  readonly name?: string
  readonly storedAt: number
  /** Undefined when no key opens it, or it is damaged. */
  readonly delivery?: VerifiedDelivery
  /** The vendor of the receiver that kept it, as far as is known. */
  readonly vendor?: string
  /** Who kept it refuses its data. */
  readonly unfit?: true
  /** It is gone or must not be taken: no retry can open it. */
  readonly isHopeless?: true
  readonly handled: readonly string[]
  /** Those that failed at the attempt before. */
  readonly failed: readonly string[]
  /** Its place in the order of arrival. */
  readonly seq: number
  readonly gap: boolean
  readonly highWaterMark?: HighWaterMark
}

/** How an attempt ended. */
export type Verdict =
  | { readonly kind: 'done'; readonly occurrence?: Occurrence }
  | {
      readonly kind: 'failed'
      readonly reason: EntryReason
      readonly failures: readonly EntryFailure[]
      /** No retry can help. */
      readonly fatal: boolean
    }
  | { readonly kind: 'skipped'; readonly reason: EntryReason }
  /** It could not be read when it arrived, or not as what it is: it takes its place in its lane. */
  | { readonly kind: 'assigned'; readonly arrival: Arrival }
  | {
      readonly kind: 'released'
      /** Of handlers that failed and must not be forgotten, though no attempt is counted. */
      readonly failures?: readonly EntryFailure[]
    }

/** The part of an event that tells its place in the life of its entity. */
export interface Occurrence {
  readonly name: string
  readonly occurredAt?: Date
  /** The last decision of the entity from now on. */
  readonly decision?: Decision | undefined
}

/** The result of an attempt: `lost` if another worker holds the entry by now. */
export type SettledAs = Settlement['to'] | 'lost'

/** How an attempt was settled, and when the next one of a `retry` is due. */
export interface SettledWork {
  readonly state: SettledAs
  readonly dueAt?: Date
  /** Where the verdict has none. */
  readonly reason?: EntryReason
}

/** An entry whose holder was gone, and what the crash came to. */
export interface Swept {
  readonly id: string
  readonly attempt: number
  readonly name?: string
  readonly storedAt: number
  readonly state: 'retry' | 'dead'
  /** When the next attempt is due. */
  readonly dueAt?: Date
}

/** A request that the store did not fulfil. */
export interface FailedRequest {
  readonly asked: string
  readonly error: unknown
  /** When it was made, by `performance.now()`. */
  readonly began: number
}

/** The parts of an inbox that a worker uses. */
export interface WorkSource {
  readonly now: Clock
  readonly operations: Operations
  /** Milliseconds for which a claim holds without being renewed. */
  readonly lease: number
  /** Where the entries are, of which one receiver of a process has the worker; known once it is open. */
  readonly place: string | undefined
  /** Milliseconds between two looks for leases whose holder is gone. */
  readonly sweepEvery: number
  /** Milliseconds within which a store that works has answered. */
  readonly timeout: number
  /** Warns where what is kept waits and nobody comes for it. */
  readonly watch: WorkerWatch
  open(): Promise<void>
  close(): Promise<void>
  claim(limit: number): Promise<{ readonly works: readonly Work[]; readonly next?: number }>
  /** Resolves after the commit; `lost` as well when the inbox was closed meanwhile. */
  settle(work: Work, verdict: Verdict, handled: readonly string[]): Promise<SettledWork>
  /** Nobody will settle it here any more: its lease may lapse. */
  abandon(work: Work): void
  /** Without a handler it only tells whether the lease holds. */
  checkpoint(work: Work, handler?: string): Promise<boolean>
  /** Resolves when it is this handler's turn. */
  transaction?(work: Work, handler: string): Promise<StoreTx>
  /** Holds the leases of all that was claimed here and is not settled. */
  renew(): Promise<void>
  /** Counts a crash for every lease whose holder is gone; what was claimed here is never among them. */
  sweep(): Promise<readonly Swept[]>
  /** Erases what is past its retention, page by page; true when nothing is left of it. */
  purgeWhile(goesOn: () => boolean): Promise<boolean>
  /** Milliseconds since the newest entry was stored; Infinity where no other process stores. */
  sinceStored(): Promise<number>
  /** Calls when there may be something to claim; the function that it returns ends that. */
  onWork(wake: () => void): () => void
}
