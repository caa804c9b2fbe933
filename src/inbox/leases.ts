// The leases of one inbox: claims entries and opens their deliveries, renews and settles them, and
// counts a crash for each expired lease.
import type { Clock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { warn } from '../foundation/warn.ts'
import { type LeaseHolder, processState } from '../host/process.ts'
import { isDevelopment } from '../host/runtime.ts'
import { isEventName, isFinal } from '../protocol/names.ts'
import { unpackContent } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { Arrival } from './entry.ts'
import type { Retry } from './retry.ts'
import type { InboxStore } from './store.ts'
import type { Occurrence, SettledWork, Swept, Verdict, Work } from './work.ts'
import type { Assigned, Claimed, HighWaterMark, Lease, NewEntry, StoreTx } from './work-store.ts'

export interface LeasesDeps {
  readonly store: InboxStore
  readonly encryption: Encryption
  readonly retry: Retry
  readonly now: Clock
  readonly lease: number
  /** True if an entity waits behind its dead entry. */
  readonly hold: boolean
  /** The entry of an arrival that could not be read before; undefined once the inbox is closed. */
  assigned(work: Work, arrival: Arrival): Promise<NewEntry | undefined>
  wake(): void
}

/** Milliseconds between the returns of entries after a crash, and the maximum for all of them. */
const apart = 50
const spread = 5_000
const day = 24 * 60 * 60 * 1000

export class Leases {
  readonly watch: WorkerWatch
  readonly lease: number
  readonly #deps: LeasesDeps
  /** Entries that were claimed here and are not settled, by id. */
  readonly #held = new Map<string, Work>()
  /** Second claims of entries whose attempts still run here, as after a failover. */
  readonly #again = new Map<string, Work>()
  /** Claims that wait for the store's answer. */
  readonly #claiming = new Set<Promise<void>>()
  /** Registered in the process once it claims: other inboxes may share the file. */
  #holder: LeaseHolder | undefined
  #isAligned = false

  constructor(deps: LeasesDeps) {
    this.#deps = deps
    const { store, now } = deps
    this.lease = deps.lease
    this.watch = new WorkerWatch(async () => {
      const at = now().getTime()
      return at - ((await store.stats(at)).due ?? at)
    })
  }

  /** Resolves to entries ready to be handled, and when the next lane is due. */
  async claim(limit: number) {
    const { store, lease } = this.#deps
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#claiming.add(promise)
    try {
      if (store.refresh) await store.refresh()
      const now = this.#deps.now().getTime()
      if (!this.#isAligned) await this.#align(now)
      const until = this.#leaseTime(now) + lease
      const { entries, next } = await store.claim({ now, limit, until })
      const works: Work[] = []
      for (const entry of entries) {
        const work = toWork(entry, this.#deps.encryption)
        const isAtWork = this.#held.has(entry.id)
        ;(isAtWork ? this.#again : this.#held).set(entry.id, work)
        if (!isAtWork) works.push(work)
      }
      return { works, next }
    } finally {
      this.#claiming.delete(promise)
      resolve()
    }
  }

  /** Resolves after the commit; `lost` if another worker holds the entry, or the inbox was closed. */
  async settle(work: Work, verdict: Verdict, handled: readonly string[]): Promise<SettledWork> {
    if (!this.#isAligned) return { state: 'lost' }
    if (verdict.kind === 'assigned') return this.#assign(work, verdict.arrival)
    const { store } = this.#deps
    const settlement = this.#settlement(work, verdict, handled)
    const lease = this.#latestLease(work)
    let isSettled = await store.settle({ ...settlement, lease })
    if (!isSettled) {
      // The answer of a later claim may be on its way.
      await Promise.all(this.#claiming)
      const latest = this.#latestLease(work)
      if (keyOf(latest) !== keyOf(lease)) {
        isSettled = await store.settle({ ...settlement, lease: latest })
      }
    }
    this.abandon(work)
    return isSettled ? settledAs(settlement) : { state: 'lost' }
  }

  async #assign(work: Work, arrival: Arrival): Promise<SettledWork> {
    const entry = await this.#deps.assigned(work, arrival)
    if (!entry) return { state: 'lost' }
    const lease = this.#latestLease(work)
    const at = this.#deps.now().getTime()
    const assigned = await this.#deps.store.assign({ lease, at, entry })
    this.abandon(work)
    this.#deps.wake()
    return assignedAs[assigned]
  }

  /** False if the lease was lost. Without a handler it only asks that. */
  checkpoint(work: Work, handler?: string): Promise<boolean> {
    return this.#deps.store.checkpoint(this.#latestLease(work), handler)
  }

  /** Resolves when it is the handler's turn; undefined if the store has no transactions. */
  async transaction(work: Work, handler: string): Promise<StoreTx | undefined> {
    return this.#deps.store.transaction?.(this.#latestLease(work), handler)
  }

  /** The lease that an attempt continues with: a later claim's, unless all handlers begin again. */
  #latestLease({ lease, attempt, source }: Work): Lease {
    const again = this.#again.get(lease.id)
    const goesOn = again && again.attempt >= attempt && again.source === source
    return goesOn ? again.lease : lease
  }

  /** Stops renewing the lease of an entry that will not be settled here. */
  abandon(work: Work): void {
    const { id } = work.lease
    if (this.#held.get(id) !== work) return
    this.#held.delete(id)
    const again = this.#again.get(id)
    if (!again) return
    this.#again.delete(id)
    const at = this.#deps.now().getTime()
    // Refused once the attempt was settled; if it fails, the lease lapses.
    const settlement = { to: 'released', lease: again.lease, at, handled: [] } as const
    this.#deps.store.settle(settlement).catch(() => {})
  }

  #leases(): readonly Lease[] {
    return [...this.#held.values(), ...this.#again.values()].map(({ lease }) => lease)
  }

  reset(): void {
    this.watch.end()
    this.#held.clear()
    this.#again.clear()
    this.#isAligned = false
    if (this.#holder) processState().leaseHolders.delete(this.#holder)
    this.#holder = undefined
  }

  async renew(): Promise<void> {
    if (this.#held.size === 0) return
    const { store, lease, now } = this.#deps
    await store.refresh?.()
    await store.renew(this.#leases(), this.#leaseTime(now().getTime()) + lease)
  }

  async sweep(): Promise<readonly Swept[]> {
    const { store, hold } = this.#deps
    await store.refresh?.()
    const now = this.#deps.now().getTime()
    if (!this.#isAligned) await this.#align(now)
    // During a deployment old processes may still stop lanes.
    if (!hold) await store.free?.(now)
    const lapsed = await store.lapsed(this.#leaseTime(now))
    const held = this.#heldInProcess()
    const swept: Swept[] = []
    const left = lapsed.filter((lease) => !held.has(keyOf(lease)))
    const step = Math.min(apart, spread / left.length)
    for (const [index, gone] of left.entries()) {
      const { id, fence, owner, attempt, ...rest } = gone
      const lease = defined({ id, fence, owner })
      const failed = { reason: 'CRASHED', failures: [], attempt } as const
      // One of these entries may have caused the crash. They return one by one, so that it does not
      // interrupt the others again.
      const wait = attempt === 1 ? Math.floor(index * step) : undefined
      const settlement = this.#failure(failed, now, wait)
      const isSettled = await store.settle({ ...settlement, lease, handled: [], sweeps: true })
      if (!isSettled) continue
      swept.push({ id, attempt, ...rest, ...settledAs(settlement) })
    }
    return swept
  }

  /** The leases of all inboxes of the process on this file: their holders are alive. */
  #heldInProcess(): ReadonlySet<string> {
    const { place } = this.#deps.store
    const shared = [...processState().leaseHolders].filter(({ file }) => file === place)
    return new Set([...this.#leases(), ...shared.flatMap((one) => [...one.leases()])].map(keyOf))
  }

  async #align(now: number): Promise<void> {
    const { store, retry, hold } = this.#deps
    await store.align({ now, latest: now + retry.longest, free: !hold })
    this.#isAligned = true
    this.watch.end()
    if (store.place === undefined || this.#holder) return
    this.#holder = { file: store.place, leases: () => this.#leases() }
    processState().leaseHolders.add(this.#holder)
  }

  /** The store's own time: the user's `now` may differ from the clocks of other processes. */
  #leaseTime(now: number): number {
    const { store } = this.#deps
    return store.now ? store.now().getTime() : now
  }

  #settlement({ attempt, name }: Work, verdict: Ended, handled: readonly string[]) {
    const at = this.#deps.now().getTime()
    switch (verdict.kind) {
      case 'done': {
        const { occurrence } = verdict
        if (!occurrence) return { to: 'done', at, handled } as const
        const isRenamed = occurrence.name !== name && isEventName(occurrence.name)
        const highWaterMark = highWaterMarkOf(occurrence, at)
        const renamed = isRenamed && { name: occurrence.name }
        return { to: 'done', at, handled, highWaterMark, ...renamed } as const
      }
      case 'skipped':
        return { to: 'skipped', at, handled, reason: verdict.reason } as const
      case 'released': {
        const { failures } = verdict
        return { to: 'released', at, handled, ...(failures && { failures }) } as const
      }
      case 'failed': {
        const { reason, failures, fatal, retryAfter } = verdict
        const last = fatal ? Number.POSITIVE_INFINITY : attempt
        return { ...this.#failure({ reason, failures, attempt: last, retryAfter }, at), handled }
      }
    }
  }

  #failure({ attempt, retryAfter = 0, ...why }: FailedAttempt, at: number, wait?: number) {
    const { hold, retry } = this.#deps
    const delay = retry.delayAfter(attempt)
    if (delay === undefined) return { to: 'dead', at, hold, ...why } as const
    return { to: 'retry', at, due: at + Math.max(wait ?? delay, retryAfter), ...why } as const
  }
}

interface FailedAttempt
  extends Pick<Extract<Verdict, { kind: 'failed' }>, 'reason' | 'failures' | 'retryAfter'> {
  readonly attempt: number
}

type Ended = Exclude<Verdict, { readonly kind: 'assigned' }>

const assignedAs: Readonly<Record<Assigned, SettledWork>> = {
  stored: { state: 'released' },
  duplicate: { state: 'skipped', reason: 'FORGOTTEN' },
  conflict: { state: 'skipped', reason: 'CONFLICT' },
  lost: { state: 'lost' },
}

function settledAs<State>(settlement: { readonly to: State; readonly due?: number }) {
  const { to: state, due } = settlement
  return due === undefined ? { state } : { state, dueAt: new Date(due) }
}

const keyOf = ({ id, fence }: Pick<Lease, 'id' | 'fence'>) => `${fence} ${id}`

function toWork(entry: Claimed, encryption: Encryption): Work {
  const { id, fence, owner, occurredAt: _, metadata, body, failed = [], ...rest } = entry
  const lease = owner === undefined ? { id, fence } : { id, fence, owner }
  const opened = metadata && body && unpackContent(id, { metadata, body }, encryption)
  if (opened) return { ...rest, lease, failed, ...opened }
  const isRefused = [metadata, body].some((part) => !part || encryption.isRefused(part))
  return { ...rest, lease, failed, ...(isRefused && { isUnrecoverable: true as const }) }
}

/** The latest occurrence done in a lane, after this event. */
function highWaterMarkOf({ name, occurredAt, decision }: Occurrence, now: number): HighWaterMark {
  // A time far in the future would make every later event of the entity stale.
  const max = now + day
  const at = occurredAt?.getTime()
  const mark = { final: isFinal(name), ...(at !== undefined && at <= max && { at }) }
  if (!decision) return mark
  const decidedAt = decision.at !== undefined && decision.at <= max ? decision.at : undefined
  return { ...mark, decision: defined({ ...decision, at: decidedAt }) }
}

/** Milliseconds for which an entry may be due before the warning. */
const maxLag = 30_000

/** Warns once if entries wait without a worker: in development, or if one could not start here. */
class WorkerWatch {
  readonly #lag: () => Promise<number>
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  #hasFailed = false

  constructor(lag: () => Promise<number>) {
    this.#lag = lag
  }

  failed(): void {
    this.#hasFailed = true
  }

  kept(): void {
    if (this.#isOver || this.#timer !== undefined) return
    if (!this.#hasFailed && !isDevelopment()) return
    this.#timer = setTimeout(() => void this.#check(), maxLag)
    // Timers of browsers and workers are numbers.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  /** A worker of this process asked for work, or the inbox was closed. */
  end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  async #check(): Promise<void> {
    // Failed deliveries report a store that does not answer.
    const lag = await this.#lag().catch(() => 0)
    this.#timer = undefined
    if (this.#isOver || lag < maxLag) return
    this.#isOver = true
    const fix = this.#hasFailed
      ? 'the worker of this process could not start. Call worker.start() again until it does, or end the process so that it is started again'
      : 'start a worker with await createWorker(receiver).start(), here or in another process'
    warn(`the inbox keeps events, and nothing has handled them for 30 s: ${fix}`, 'NO_WORKER')
  }
}
