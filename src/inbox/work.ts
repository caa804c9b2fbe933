// The inbox as a worker sees it: claims with their deliveries opened, and what an attempt's end
// means by the plan of retries.
import type { Clock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import type { VerifiedDelivery } from '../foundation/delivery.ts'
import type { EventSource } from '../protocol/events.ts'
import type { Decision } from '../protocol/finality.ts'
import { isFinal } from '../protocol/names.ts'
import { unpackDelivery } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { EntryFailure, EntryReason } from './entry.ts'
import type { Retry } from './retry.ts'
import type { InboxStore } from './store.ts'
import { assertNoneUnencrypted } from './unencrypted-entries.ts'
import type { Claimed, HighWaterMark, Lease, Settlement, StoreTx } from './work-store.ts'

/** One claimed entry, ready to be handled. */
export interface Work {
  readonly lease: Lease
  readonly attempt: number
  readonly source: EventSource
  readonly name?: string
  readonly storedAt: number
  /** Undefined when no key opens it, or it is damaged. */
  readonly delivery?: VerifiedDelivery
  /** It is gone or must not be taken: no retry can open it. */
  readonly isHopeless?: true
  readonly handled: readonly string[]
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
  | { readonly kind: 'released' }

/** The part of an event that tells its place in the life of its entity. */
export interface Occurrence {
  readonly name: string
  readonly occurredAt?: Date
  /** The last decision of the entity from now on. */
  readonly decision?: Decision | undefined
}

/** The result of an attempt: `lost` if another worker holds the entry by now. */
export type SettledAs = Settlement['to'] | 'lost'

/** An entry whose holder was gone, and what the crash came to. */
export interface Swept {
  readonly id: string
  readonly attempt: number
  readonly name?: string
  readonly storedAt: number
  readonly state: 'retry' | 'dead'
}

/** An operator's action on entries, by the inbox's own methods. */
export interface Operated {
  readonly asked: 'redrive' | 'replay' | 'dismiss' | 'forget'
  readonly entries: number
  /** Milliseconds that it took. */
  readonly duration: number
  /** Where one was named. */
  readonly entryId?: string
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
  /** Milliseconds for which a claim holds without being renewed. */
  readonly lease: number
  /** Where the entries are, of which one inbox of a process has the worker; known once it is open. */
  readonly place: string | undefined
  /** Milliseconds between two looks for leases whose holder is gone. */
  readonly sweepEvery: number
  /** Milliseconds within which a store that works has answered. */
  readonly timeout: number
  open(): Promise<void>
  close(): Promise<void>
  claim(limit: number): Promise<{ readonly works: readonly Work[]; readonly next?: number }>
  /** Resolves after the commit; `lost` as well when the inbox was closed meanwhile. */
  settle(work: Work, verdict: Verdict, handled: readonly string[]): Promise<SettledAs>
  /** Nobody will settle it here any more: its lease may lapse. */
  abandon(work: Work): void
  checkpoint(work: Work, handler: string): Promise<boolean>
  /** Resolves when it is this handler's turn. */
  transaction?(work: Work, handler: string): Promise<StoreTx>
  /** Holds the leases of all that was claimed here and is not settled. */
  renew(): Promise<void>
  /** Counts a crash for every lease whose holder is gone; what was claimed here is never among them. */
  sweep(): Promise<readonly Swept[]>
  /** Erases what is past its retention, page by page; true when nothing is left of it. */
  purgeWhile(goesOn: () => boolean): Promise<boolean>
  /** When the newest entry was stored, where other processes store as well. */
  lastStored(): Promise<number | undefined>
  /** Calls when there may be something to claim; the function that it returns ends that. */
  onWork(wake: () => void): () => void
  /** Calls when an operator moved entries; the function that it returns ends that. */
  onOperated(report: (operated: Operated) => void): () => void
}

/** Dependencies of Claims. */
export interface ClaimsDeps {
  readonly store: InboxStore
  readonly encryption: Encryption
  readonly retry: Retry
  readonly now: Clock
  /** Milliseconds for which a claim holds without being renewed. */
  readonly lease: number
  readonly hold: boolean
}

/** Milliseconds between the returns of entries that one crash interrupted. */
const apart = 50

const day = 24 * 60 * 60 * 1000

/** Claims and settles for the workers of one inbox. */
export class Claims {
  readonly #deps: ClaimsDeps
  /** Entries claimed here and not yet settled, by id: alive, whatever their lease says. */
  readonly #held = new Map<string, Lease>()
  /** The latest time that lanes are in line with; none before the first claim. */
  #seen: number | undefined

  constructor(deps: ClaimsDeps) {
    this.#deps = deps
  }

  async claim(limit: number) {
    const { store, lease } = this.#deps
    const now = await this.#alignedNow()
    const { entries, next } = await store.claim({ now, limit, until: now + lease })
    for (const entry of entries) this.#held.set(entry.id, leaseOf(entry))
    const works = entries.map((entry) => this.#toWork(entry))
    return { works, ...(next !== undefined && { next }) }
  }

  async settle(work: Work, verdict: Verdict, handled: readonly string[]): Promise<SettledAs> {
    const settlement = this.#settlement(work, verdict, handled)
    const isTaken = await this.#deps.store.settle(settlement)
    this.abandon(work)
    return isTaken ? settlement.to : 'lost'
  }

  abandon({ lease }: Pick<Work, 'lease'>): void {
    if (this.#holds(lease)) this.#held.delete(lease.id)
  }

  /** An entry was kept at that time: a claim before it means that the clock went back. */
  noticeTime(at: number): void {
    if (this.#seen !== undefined && at > this.#seen) this.#seen = at
  }

  /** The store was closed: another may have claimed since. */
  reset(): void {
    this.#held.clear()
    this.#seen = undefined
  }

  async renew(): Promise<void> {
    if (this.#held.size === 0) return
    await this.#deps.store.renew([...this.#held.values()], this.#now() + this.#deps.lease)
  }

  async sweep(): Promise<readonly Swept[]> {
    const lapsed = await this.#deps.store.lapsed(await this.#alignedNow())
    const swept: Swept[] = []
    for (const [at, gone] of lapsed.filter((lease) => !this.#holds(lease)).entries()) {
      const { id, fence: _, owner: __, attempt, ...rest } = gone
      const failed = { reason: 'CRASHED', failures: [], attempt } as const
      // Of those that a crash interrupted one may have caused it: they come back at once but one
      // by one, so that it takes no neighbours along a second time.
      const wait = attempt === 1 ? at * apart : undefined
      const settlement = this.#failure(leaseOf(gone), failed, wait)
      const isTaken = await this.#deps.store.settle({ ...settlement, handled: [] })
      if (isTaken) swept.push({ id, attempt, ...rest, state: settlement.to })
    }
    return swept
  }

  #holds({ id, fence }: Lease): boolean {
    return this.#held.get(id)?.fence === fence
  }

  /** The time, once the lanes know that the clock was set: at the start, or back since. */
  async #alignedNow(): Promise<number> {
    const now = this.#now()
    const { store, encryption, retry, hold } = this.#deps
    if (this.#seen === undefined) await assertNoneUnencrypted(store, encryption)
    if (this.#seen === undefined || now < this.#seen) {
      await store.align({ now, latest: now + retry.longest, free: !hold })
    }
    this.#seen = now
    return now
  }

  #now(): number {
    return this.#deps.now().getTime()
  }

  #toWork(entry: Claimed): Work {
    const { attempt, name, source, storedAt, handled, gap, highWaterMark } = entry
    const opened = openedOf(entry, this.#deps.encryption)
    return {
      lease: leaseOf(entry),
      attempt,
      source,
      storedAt,
      ...(name !== undefined && { name }),
      ...opened,
      handled,
      gap,
      ...(highWaterMark && { highWaterMark }),
    }
  }

  #settlement({ lease, attempt }: Work, verdict: Verdict, handled: readonly string[]): Settlement {
    const at = this.#now()
    switch (verdict.kind) {
      case 'done': {
        const highWaterMark = verdict.occurrence && highWaterMarkOf(verdict.occurrence, at)
        return { to: 'done', lease, at, handled, ...(highWaterMark && { highWaterMark }) }
      }
      case 'skipped':
        return { to: 'skipped', lease, at, handled, reason: verdict.reason }
      case 'released':
        return { to: 'released', lease, at, handled }
      case 'failed': {
        const { reason, failures, fatal } = verdict
        const last = fatal ? Number.POSITIVE_INFINITY : attempt
        return { ...this.#failure(lease, { reason, failures, attempt: last }), handled }
      }
    }
  }

  #failure(
    lease: Lease,
    failed: {
      readonly reason: EntryReason
      readonly failures: readonly EntryFailure[]
      readonly attempt: number
    },
    wait?: number,
  ) {
    const { attempt, ...why } = failed
    const at = this.#now()
    const delay = this.#deps.retry.delayAfter(attempt)
    if (delay === undefined)
      return { to: 'dead', lease, at, hold: this.#deps.hold, ...why } as const
    return { to: 'retry', lease, at, due: at + (wait ?? delay), ...why } as const
  }
}

function leaseOf({ id, fence, owner }: Lease): Lease {
  return defined({ id, fence, owner })
}

/** Never throws: what is wrong with one entry must not keep the others that were claimed with it. */
function openedOf(
  { id, metadata, body }: Claimed,
  encryption: Encryption,
): Pick<Work, 'delivery' | 'isHopeless'> {
  if (!metadata || !body || encryption.isRefused(metadata) || encryption.isRefused(body)) {
    return { isHopeless: true }
  }
  try {
    const delivery = unpackDelivery(id, { metadata, body }, encryption)
    return delivery ? { delivery } : {}
  } catch {
    return {}
  }
}

/** A time far in the future would make every later event of the entity stale. */
function highWaterMarkOf({ name, occurredAt, decision }: Occurrence, now: number): HighWaterMark {
  const at = occurredAt?.getTime()
  const trusted = at !== undefined && at > now + day ? undefined : at
  return defined({ final: isFinal(name), at: trusted, decision })
}
