// The leases of one inbox: claims entries with their deliveries opened, renews and settles them, and
// counts a crash for each lease whose holder is gone.
import type { Clock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { type LeaseHolder, processState } from '../host/process.ts'
import { isFinal } from '../protocol/names.ts'
import { openedOf } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { EntryFailure, EntryReason } from './entry.ts'
import type { Retry } from './retry.ts'
import type { InboxStore } from './store.ts'
import type { Occurrence, SettledWork, Swept, Verdict, Work } from './work.ts'
import type { Assigned, Claimed, HighWaterMark, Lease, NewEntry, Settlement } from './work-store.ts'
import { WorkerWatch } from './worker-watch.ts'

/** Dependencies of Leases. */
export interface LeasesDeps {
  readonly store: InboxStore
  readonly encryption: Encryption
  readonly retry: Retry
  readonly now: Clock
  /** Milliseconds for which a claim holds without renewal. */
  readonly lease: number
  /** True if an entity waits behind its dead entry. */
  readonly hold: boolean
}

/** Milliseconds between the returns of entries that one crash interrupted, and for all of them. */
const apart = 50
const spread = 5_000
const day = 24 * 60 * 60 * 1000

/** The leases of one inbox. */
export class Leases {
  readonly watch: WorkerWatch
  readonly #deps: LeasesDeps
  /** Entries that were claimed here and are not settled. */
  readonly #held = new Set<Work>()
  /** Registered in the process while it holds anything: other inboxes may share the file. */
  #holder: LeaseHolder | undefined
  /**
   * Later claims of entries that are still at work here, by id: a store that lost a lease, as by a
   * failover, gives the entry out again. The entry waits until its earlier attempt has ended.
   */
  readonly #again = new Map<string, Work>()
  /** Claims whose answers are on their way. */
  #claiming = Promise.resolve()
  #isAligned = false

  constructor(deps: LeasesDeps) {
    this.#deps = deps
    const { store, now } = deps
    this.watch = new WorkerWatch(async () => {
      const at = now().getTime()
      return at - ((await store.stats(at)).due ?? at)
    })
  }

  claim(limit: number) {
    const claim = this.#claim(limit)
    // Without the results, which would stay in memory.
    this.#claiming = Promise.allSettled([this.#claiming, claim]).then(() => {})
    return claim
  }

  async #claim(limit: number) {
    this.watch.end()
    const { store, lease } = this.#deps
    const now = await this.#alignedNow()
    const { entries, next } = await store.claim({ now, limit, until: this.#leaseNow() + lease })
    const works = this.#hold(entries.map((entry) => this.#toWork(entry)))
    return { works, ...(next !== undefined && { next }) }
  }

  /** Ends the attempt; the entry goes on in its own lane, as new. */
  async assign(work: Work, entry: NewEntry): Promise<SettledWork> {
    const { lease } = this.#latest(work)
    const assigned = await this.#deps.store.assign({ lease, at: this.#now(), entry })
    this.abandon(work)
    return assignedAs[assigned]
  }

  async settle(work: Work, verdict: Ended, handled: readonly string[]): Promise<SettledWork> {
    const { store } = this.#deps
    const first = this.#latest(work)
    let settlement = this.#settlement(first, verdict, handled)
    let isSettled = await store.settle(settlement)
    if (!isSettled) {
      // The answer of a later claim may be on its way.
      await this.#claiming
      const latest = this.#latest(work)
      if (keyOf(latest.lease) !== keyOf(first.lease)) {
        settlement = this.#settlement(latest, verdict, handled)
        isSettled = await store.settle(settlement)
      }
    }
    this.abandon(work)
    return isSettled ? { state: settlement.to, ...dueOf(settlement) } : { state: 'lost' }
  }

  /** The lease that an attempt goes on with: the store may have given the entry out again. */
  latestLease(work: Work): Lease {
    return this.#latest(work).lease
  }

  /** The work under a later lease, unless that begins all over. */
  #latest(work: Work): Work {
    const again = this.#again.get(work.lease.id)
    const goesOn = again && again.attempt >= work.attempt && again.source === work.source
    return goesOn ? { ...work, lease: again.lease } : work
  }

  abandon(work: Work): void {
    this.#release(work)
    const { id } = work.lease
    const again = this.#again.get(id)
    if (!again) return
    this.#again.delete(id)
    this.#release(again)
    const settlement = { to: 'released', lease: again.lease, at: this.#now(), handled: [] } as const
    // Refused once the attempt was settled; if it fails, the lease lapses.
    this.#deps.store.settle(settlement).catch(() => {})
  }

  /** Holds what was claimed; returns what is not at work here already. */
  #hold(works: readonly Work[]): readonly Work[] {
    const atWork = new Set([...this.#held].map(({ lease }) => lease.id))
    for (const work of works) {
      const { id } = work.lease
      if (atWork.has(id)) {
        const outdated = this.#again.get(id)
        if (outdated) this.#held.delete(outdated)
        this.#again.set(id, work)
      }
      this.#held.add(work)
    }
    const file = this.#deps.store.place
    if (file !== undefined && this.#held.size > 0 && !this.#holder) {
      this.#holder = { file, leases: () => this.#leases() }
      processState().leaseHolders.add(this.#holder)
    }
    return works.filter(({ lease }) => !atWork.has(lease.id))
  }

  #release(work: Work): void {
    this.#held.delete(work)
    if (this.#held.size > 0 || !this.#holder) return
    processState().leaseHolders.delete(this.#holder)
    this.#holder = undefined
  }

  #leases(): readonly Lease[] {
    return [...this.#held].map(({ lease }) => lease)
  }

  /** The store was closed: another process may have claimed since. */
  reset(): void {
    this.watch.end()
    for (const work of this.#held) this.#release(work)
    this.#again.clear()
    this.#isAligned = false
  }

  async renew(): Promise<void> {
    if (this.#held.size === 0) return
    const { store, lease } = this.#deps
    await store.refresh?.()
    await store.renew(this.#leases(), this.#leaseNow() + lease)
  }

  async sweep(): Promise<readonly Swept[]> {
    const { store, hold } = this.#deps
    const now = await this.#alignedNow()
    // During a deployment old processes may still stop lanes.
    if (!hold) await store.free?.(now)
    const lapsed = await store.lapsed(this.#leaseNow())
    const held = this.#heldInProcess()
    const swept: Swept[] = []
    const left = lapsed.filter((lease) => !held.has(keyOf(lease)))
    const step = Math.min(apart, spread / left.length)
    for (const [index, gone] of left.entries()) {
      const { id, fence: _, owner: __, attempt, ...rest } = gone
      const failed = { reason: 'CRASHED', failures: [], attempt } as const
      // One of these entries may have caused the crash: they come back one by one, so that it does
      // not take the others along a second time.
      const wait = attempt === 1 ? Math.floor(index * step) : undefined
      const settlement = this.#failure(leaseOf(gone), failed, wait)
      const isSettled = await store.settle({ ...settlement, handled: [], sweeps: true })
      if (!isSettled) continue
      swept.push({ id, attempt, ...rest, state: settlement.to, ...dueOf(settlement) })
    }
    return swept
  }

  /** The leases of all inboxes of the process on this file: their holders are alive. */
  #heldInProcess(): ReadonlySet<string> {
    const { place } = this.#deps.store
    const shared = [...processState().leaseHolders].filter(({ file }) => file === place)
    return new Set([...this.#leases(), ...shared.flatMap((one) => [...one.leases()])].map(keyOf))
  }

  /** The time, after the lanes were aligned with it at the first claim. */
  async #alignedNow(): Promise<number> {
    const { store, retry, hold } = this.#deps
    await store.refresh?.()
    const now = this.#now()
    if (this.#isAligned) return now
    await store.align({ now, latest: now + retry.longest, free: !hold })
    this.#isAligned = true
    return now
  }

  #now(): number {
    return this.#deps.now().getTime()
  }

  /** The store's own time: a user's `now` may differ from that of other holders. */
  #leaseNow(): number {
    const { store, now } = this.#deps
    return (store.now ?? now)().getTime()
  }

  #toWork(entry: Claimed): Work {
    const { attempt, seq, name, source, storedAt, handled, failed = [], gap, highWaterMark } = entry
    return {
      lease: leaseOf(entry),
      ...{ attempt, seq, source, storedAt, handled, failed, gap },
      ...defined({ name, highWaterMark }),
      ...openedOf(entry, this.#deps.encryption),
    }
  }

  #settlement({ lease, attempt }: Work, verdict: Ended, handled: readonly string[]): Settlement {
    const at = this.#now()
    switch (verdict.kind) {
      case 'done': {
        const highWaterMark = verdict.occurrence && highWaterMarkOf(verdict.occurrence, at)
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

  #failure(lease: Lease, { attempt, ...why }: FailedAttempt, wait?: number) {
    const { hold, retry } = this.#deps
    const at = this.#now()
    const delay = retry.delayAfter(attempt)
    if (delay === undefined) return { to: 'dead', lease, at, hold, ...why } as const
    return { to: 'retry', lease, at, due: at + (wait ?? delay), ...why } as const
  }
}

interface FailedAttempt {
  readonly reason: EntryReason
  readonly failures: readonly EntryFailure[]
  readonly attempt: number
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

/** Identifies one claim of one entry. */
const keyOf = ({ id, fence }: Pick<Lease, 'id' | 'fence'>) => `${fence} ${id}`

function leaseOf({ id, fence, owner }: Lease): Lease {
  return defined({ id, fence, owner })
}

/** The latest occurrence done in a lane, after this event. */
function highWaterMarkOf({ name, occurredAt, decision }: Occurrence, now: number): HighWaterMark {
  // A time far in the future would make every later event of the entity stale.
  const credible = (at: number | undefined) => (at !== undefined && at > now + day ? undefined : at)
  const decided = decision && defined({ ...decision, at: credible(decision.at) })
  return defined({ final: isFinal(name), at: credible(occurredAt?.getTime()), decision: decided })
}
