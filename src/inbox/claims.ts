// Claims with their deliveries opened, and what an attempt's end means by the plan of retries.
import { type Clock, systemClock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { openedOf } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { EntryFailure, EntryReason } from './entry.ts'
import { HeldWork } from './held.ts'
import { highWaterMarkOf } from './high-water-mark.ts'
import type { Retry } from './retry.ts'
import type { InboxStore } from './store.ts'
import { assertNoneUnencrypted } from './unencrypted-entries.ts'
import type { SettledWork, Swept, Verdict, Work } from './work.ts'
import type { Assigned, Claimed, Lease, NewEntry, Settlement } from './work-store.ts'
import { WorkerWatch } from './worker-watch.ts'

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

/** Milliseconds between the returns of entries that one crash interrupted, and for all of them. */
const apart = 50
const spread = 5_000

/** Claims and settles for the workers of one inbox. */
export class Claims {
  readonly watch: WorkerWatch
  readonly #deps: ClaimsDeps
  readonly #held: HeldWork
  /**
   * Claims of entries that are still at work here, by the entry: a store that lost a lease, such as
   * by a failover, gives it out again. They hold the entry until its earlier attempt has ended.
   */
  readonly #again = new Map<string, Work>()
  /** Claims whose answers are on their way. */
  #claiming = Promise.resolve()
  /** The latest time that lanes are in line with; none before the first claim. */
  #seen: number | undefined

  constructor(deps: ClaimsDeps) {
    this.#deps = deps
    const { store, now } = deps
    this.#held = new HeldWork(() => store.place)
    this.watch = new WorkerWatch(async () => {
      const at = now().getTime()
      return at - ((await store.stats(at)).due ?? at)
    })
  }

  claim(limit: number) {
    const claim = this.#claim(limit)
    // Without their results: those of every claim would stay.
    this.#claiming = Promise.allSettled([this.#claiming, claim]).then(() => {})
    return claim
  }

  async #claim(limit: number) {
    this.watch.end()
    const { store, lease } = this.#deps
    const now = await this.#alignedNow()
    const { entries, next } = await store.claim({ now, limit, until: this.#leaseNow() + lease })
    const works = this.#unlessAtWork(entries.map((entry) => this.#toWork(entry)))
    return { works, ...(next !== undefined && { next }) }
  }

  /** It is an entry of another lane from then on, and as new. */
  async assign(work: Work, entry: NewEntry): Promise<SettledWork> {
    const { lease } = this.#latest(work)
    const assigned = await this.#deps.store.assign({ lease, at: this.#now(), entry })
    this.abandon(work)
    return assignedAs[assigned]
  }

  async settle(work: Work, verdict: Ended, handled: readonly string[]): Promise<SettledWork> {
    const first = this.#latest(work)
    let settlement = this.#settlement(first, verdict, handled)
    let isTaken = await this.#deps.store.settle(settlement)
    if (!isTaken) {
      // The answer of a later claim may be on its way.
      await this.#claiming
      const latest = this.#latest(work)
      if (keyOf(latest.lease) !== keyOf(first.lease)) {
        settlement = this.#settlement(latest, verdict, handled)
        isTaken = await this.#deps.store.settle(settlement)
      }
    }
    this.abandon(work)
    return isTaken ? { state: settlement.to, ...dueOf(settlement) } : { state: 'lost' }
  }

  /** The lease under which an attempt goes on: a store that lost its own has given it out again. */
  latestLease(work: Work): Lease {
    return this.#latest(work).lease
  }

  /** A later claim holds the entry, and this attempt is its work, unless it begins all over. */
  #latest(work: Work): Work {
    const again = this.#again.get(work.lease.id)
    const goesOn = again && again.attempt >= work.attempt && again.source === work.source
    return goesOn ? { ...work, lease: again.lease } : work
  }

  abandon(work: Work): void {
    this.#held.delete(work)
    const { id } = work.lease
    const again = this.#again.get(id)
    if (!again) return
    this.#again.delete(id)
    this.#held.delete(again)
    const settlement = { to: 'released', lease: again.lease, at: this.#now(), handled: [] } as const
    // Refused once the attempt was settled; where it fails, the lease lapses.
    this.#deps.store.settle(settlement).catch(() => {})
  }

  /** One entry is never at work twice in one process. */
  #unlessAtWork(works: readonly Work[]): readonly Work[] {
    const held = new Set(this.#held.leases().map(({ id }) => id))
    return works.filter((work) => {
      const { id } = work.lease
      const isAtWork = held.has(id)
      if (isAtWork) {
        const outdated = this.#again.get(id)
        if (outdated) this.#held.delete(outdated)
        this.#again.set(id, work)
      }
      this.#held.add(work)
      return !isAtWork
    })
  }

  /** An entry was kept at that time: a claim before it means that the clock went back. */
  noticeTime(at: number): void {
    if (this.#seen !== undefined && at > this.#seen) this.#seen = at
  }

  /** The store was closed: another may have claimed since. */
  reset(): void {
    this.watch.end()
    this.#held.clear()
    this.#again.clear()
    this.#seen = undefined
  }

  async renew(): Promise<void> {
    if (this.#held.size === 0) return
    await this.#deps.store.refresh?.()
    await this.#deps.store.renew(this.#held.leases(), this.#leaseNow() + this.#deps.lease)
  }

  async sweep(): Promise<readonly Swept[]> {
    const now = await this.#alignedNow()
    // While a deployment is under way others may stop lanes, and go.
    if (!this.#deps.hold) await this.#deps.store.free?.(now)
    const lapsed = await this.#deps.store.lapsed(this.#leaseNow())
    const held = new Set(this.#held.everyLease().map(keyOf))
    const swept: Swept[] = []
    const left = lapsed.filter((lease) => !held.has(keyOf(lease)))
    const step = Math.min(apart, spread / left.length)
    for (const [at, gone] of left.entries()) {
      const { id, fence: _, owner: __, attempt, ...rest } = gone
      const failed = { reason: 'CRASHED', failures: [], attempt } as const
      // Of those that a crash interrupted one may have caused it: they come back at once but one
      // by one, so that it takes no neighbours along a second time.
      const wait = attempt === 1 ? Math.floor(at * step) : undefined
      const settlement = this.#failure(leaseOf(gone), failed, wait)
      const isTaken = await this.#deps.store.settle({ ...settlement, handled: [], sweeps: true })
      if (!isTaken) continue
      swept.push({ id, attempt, ...rest, state: settlement.to, ...dueOf(settlement) })
    }
    return swept
  }

  /** The time, once the lanes know that the clock was set: at the start, or back since. */
  async #alignedNow(): Promise<number> {
    const { store, encryption, retry, hold } = this.#deps
    await store.refresh?.()
    const now = this.#now()
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

  /** The store's own time: others hold leases too, and a `now` of the user's may differ from theirs. */
  #leaseNow(): number {
    const { store, now } = this.#deps
    return (store.now ?? now)().getTime()
  }

  #toWork(entry: Claimed): Work {
    const { attempt, seq, name, source, storedAt, handled, failed = [], gap, highWaterMark } = entry
    const opened = openedOf(entry, this.#deps.encryption)
    return {
      place: -1,
      lease: leaseOf(entry),
      attempt,
      seq,
      source,
      storedAt,
      ...(name !== undefined && { name }),
      ...opened,
      handled,
      failed,
      gap,
      ...(highWaterMark && { highWaterMark }),
    }
  }

  #settlement({ lease, attempt }: Work, verdict: Ended, handled: readonly string[]): Settlement {
    const at = this.#now()
    switch (verdict.kind) {
      case 'done': {
        // After a sleep the inbox's clock may still be behind the system's.
        const latest = Math.max(at, systemClock().getTime())
        const highWaterMark = verdict.occurrence && highWaterMarkOf(verdict.occurrence, latest)
        return { to: 'done', lease, at, handled, ...(highWaterMark && { highWaterMark }) }
      }
      case 'skipped':
        return { to: 'skipped', lease, at, handled, reason: verdict.reason }
      case 'released':
        return { to: 'released', lease, at, handled, ...defined({ failures: verdict.failures }) }
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
    const { hold } = this.#deps
    const at = this.#now()
    const delay = this.#deps.retry.delayAfter(attempt)
    if (delay === undefined) return { to: 'dead', lease, at, hold, ...why } as const
    return { to: 'retry', lease, at, due: at + (wait ?? delay), ...why } as const
  }
}

/** Verdicts that settle an attempt. */
type Ended = Exclude<Verdict, { readonly kind: 'assigned' }>

const assignedAs: Readonly<Record<Assigned, SettledWork>> = {
  stored: { state: 'released' },
  duplicate: { state: 'skipped', reason: 'FORGOTTEN' },
  conflict: { state: 'skipped', reason: 'CONFLICT' },
  lost: { state: 'lost' },
}

const dueOf = (settlement: Pick<Settlement, 'to'> & { readonly due?: number }) =>
  settlement.due === undefined ? {} : { dueAt: new Date(settlement.due) }

/** One claim of one entry. */
function keyOf({ id, fence }: Lease): string {
  return `${fence} ${id}`
}

function leaseOf({ id, fence, owner }: Lease): Lease {
  return defined({ id, fence, owner })
}
