// One stretch of a worker's work, from its first claim to a drain: claims as many entries as there
// are places, attempts each of them, and settles it.
import { isProcessEnding } from '../dispatch/in-flight.ts'
import { RunningHandlers } from '../dispatch/run.ts'
import { sleep } from '../foundation/abortable.ts'
import { longestTimer } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { warnIfItThrows } from '../foundation/warn.ts'
import type { FailedRequest, SettledAs, SettledWork, Work, WorkSource } from '../inbox/work.ts'
import type { Pipeline } from '../pipeline.ts'
import { type Attempted, attempt } from './attempt.ts'

/** Dependencies of a run. */
export interface RunDeps {
  readonly pipeline: Pipeline
  readonly inbox: WorkSource
  /** The number of places: entries at a time. */
  readonly concurrency: number
  /** Called when a place becomes free. */
  onCapacity(): void
  onSettled(work: Work, settled: SettledAttempt): void
  onStoreError(failed: FailedRequest): void
}

/** How an attempt was settled. */
export interface SettledAttempt extends SettledWork {
  readonly verdict: Attempted['verdict']
  /** Milliseconds since its claim. */
  readonly duration: number
}

/** Bounds of a claim; a claim without bounds works for the worker itself. */
export interface ClaimBounds {
  readonly max?: number
  readonly running?: RunningHandlers
  /** Returns the milliseconds that are left. */
  readonly left?: () => number
  /** Called once there is a place, before the store is asked. */
  readonly onRoom?: (() => void) | undefined
}

/** The result of a claim: its attempts, and when the next lane is due. */
export interface ClaimedAttempts {
  readonly attempts: readonly Promise<SettledAs>[]
  readonly next?: number
  /** There may be more. */
  readonly isFull: boolean
}

/** One entry's place in the concurrency. */
interface Room {
  isTaken: boolean
}

/** Handlers with a time limit of their own. */
interface HandlerScope {
  readonly running: RunningHandlers
  end(): void
}

/** At most so many milliseconds between renewals: after a failover 36 s are left to renew a lease. */
const maxBeat = 20_000

const released: Attempted = { verdict: { kind: 'released' }, handled: [] }

/** Shared by everything that claims for one worker, so that `concurrency` bounds the sum. */
export class WorkerRun {
  readonly #deps: RunDeps
  /** Everything that a drain waits for: claims, attempts and commits. */
  readonly #pending = new Set<Promise<unknown>>()
  /** The handlers of claims without bounds. */
  readonly #own = new RunningHandlers()
  readonly #scopes = new Set([this.#own])
  /** Aborted when the run ends, before its handlers have had their grace. */
  readonly #ending = new AbortController()
  /** Aborted once the grace is over. */
  readonly #abort = new AbortController()
  /** Claims that wait for a place. */
  readonly #waiting = new Set<() => void>()
  /** Each gives one entry up that the store has not settled. */
  readonly #settling = new Set<() => void>()
  #isOver = false
  /** Free places; negative while entries that cannot be settled have taken theirs back. */
  #free: number
  /** Entries that were claimed and are not settled. */
  #unsettled = 0
  #heartbeat: ReturnType<typeof setInterval> | undefined

  constructor(deps: RunDeps) {
    this.#deps = deps
    this.#free = deps.concurrency
  }

  /** False once the run or the process ends: nothing more is claimed. */
  get isOpen(): boolean {
    return !this.#ending.signal.aborted && !isProcessEnding()
  }

  get ending(): AbortSignal {
    return this.#ending.signal
  }

  get active(): number {
    return this.#unsettled
  }

  get free(): number {
    return this.#free
  }

  /** Begins a scope whose handlers are aborted after `ms`; those that ran for half of it time out. */
  beginScope(ms: number): HandlerScope {
    const running = new RunningHandlers()
    this.#scopes.add(running)
    const abort = () => running.abort(new DOMException('the run is over', 'AbortError'), ms / 2)
    const timer = ms <= longestTimer ? setTimeout(abort, ms) : undefined
    const end = () => {
      clearTimeout(timer)
      this.#scopes.delete(running)
    }
    return { running, end }
  }

  /** Waits for a place while there are milliseconds left, claims as many entries as fit, and attempts them. */
  claim(bounds: ClaimBounds = {}): Promise<ClaimedAttempts> {
    return this.track(this.#claim(bounds))
  }

  /**
   * Ends the run. Handlers are aborted after `grace` milliseconds; the store then has one `timeout` to
   * settle their entries. A store that hangs must not keep the process.
   */
  async end(grace: number): Promise<void> {
    this.#ending.abort()
    for (const wake of this.#waiting) wake()
    const abort = setTimeout(() => {
      const reason = new DOMException('the worker is shutting down', 'AbortError')
      this.#abort.abort(reason)
      for (const running of this.#scopes) running.abort(reason)
    }, grace)
    const late = Promise.withResolvers<void>()
    const giveUp = setTimeout(late.resolve, grace + this.#deps.inbox.timeout)
    await Promise.race([this.#quiet(), late.promise])
    clearTimeout(abort)
    clearTimeout(giveUp)
    this.#isOver = true
    for (const lose of this.#settling) lose()
    clearInterval(this.#heartbeat)
  }

  /** Makes the end of the run wait for a promise. */
  async track<Result>(promise: Promise<Result>): Promise<Result> {
    this.#pending.add(promise)
    try {
      return await promise
    } finally {
      this.#pending.delete(promise)
    }
  }

  async #quiet(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
  }

  async #claim(bounds: ClaimBounds): Promise<ClaimedAttempts> {
    const { max = Number.POSITIVE_INFINITY, running = this.#own, onRoom } = bounds
    const { left = () => longestTimer } = bounds
    while (this.isOpen && this.#free <= 0 && left() > 0) await this.#placeOr(left())
    if (!this.isOpen || left() <= 0) {
      // It may have been woken for a place that the next claim can use.
      this.#wakeOne()
      return { attempts: [], isFull: false }
    }
    onRoom?.()
    const limit = Math.min(max, this.#free)
    this.#free -= limit
    this.#wakeOne()
    let unused = limit
    try {
      const { works, next } = await this.#deps.inbox.claim(limit)
      unused -= works.length
      // If a drain began meanwhile, the entries go back as they came.
      const by = this.isOpen ? running : undefined
      const attempts = works.map((work) => this.track(this.#work(work, by)))
      return defined({ attempts, isFull: unused === 0, next })
    } finally {
      this.#free += unused
      this.#wakeOne()
      // The poll may have found no place meanwhile.
      if (running !== this.#own) this.#deps.onCapacity()
    }
  }

  /** Resolves when a place may be free, or after so many milliseconds. */
  async #placeOr(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, Math.min(ms, longestTimer))
    this.#waiting.add(resolve)
    await promise
    this.#waiting.delete(resolve)
    clearTimeout(timer)
  }

  /** A claim takes all places that it can use, and wakes the next. */
  #wakeOne(): void {
    const [wake] = this.#waiting
    if (this.#free <= 0 || !wake) return
    this.#waiting.delete(wake)
    wake()
  }

  /** Attempts an entry and settles it; without handlers that may run it is released. */
  async #work(work: Work, running: RunningHandlers | undefined): Promise<SettledAs> {
    const began = performance.now()
    const room: Room = { isTaken: true }
    this.#unsettled++
    this.#startHeartbeat()
    try {
      const { pipeline, inbox } = this.#deps
      const mayRun = running && !this.#abort.signal.aborted
      const attempted = mayRun ? await attempt(work, { pipeline, inbox, running }) : released
      const settling = this.#settle(work, attempted, room)
      // Leave at once, so that the next claim can share the commit that settles this entry.
      this.#leave(room)
      const settled = await settling
      const duration = performance.now() - began
      const report = { verdict: attempted.verdict, ...settled, duration }
      // The user's clock may throw.
      warnIfItThrows('the report of an entry', () => this.#deps.onSettled(work, report))
      return settled.state
    } finally {
      this.#leave(room)
      this.#unsettled--
      if (this.#unsettled === 0) this.#stopHeartbeat()
    }
  }

  /** Resolves with `lost` once the run is over, whatever the store does. */
  async #settle(work: Work, attempted: Attempted, room: Room): Promise<SettledWork> {
    const given = Promise.withResolvers<SettledWork>()
    const lose = () => given.resolve({ state: 'lost' })
    if (this.#isOver) lose()
    this.#settling.add(lose)
    this.#settleAtLast(work, attempted, room).then(given.resolve, given.reject)
    try {
      return await given.promise
    } finally {
      this.#settling.delete(lose)
      this.#deps.inbox.abandon(work)
    }
  }

  /** Repeats until the store settles it: a handler that succeeded must not run again for a full disk. */
  async #settleAtLast(
    work: Work,
    { verdict, handled }: Attempted,
    room: Room,
  ): Promise<SettledWork> {
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      const began = performance.now()
      try {
        return await this.#deps.inbox.settle(work, verdict, handled)
      } catch (error) {
        this.#deps.onStoreError({ asked: 'settle', error, began })
        if (this.#abort.signal.aborted) return { state: 'lost' }
        // The entry takes its place back: while nothing can be settled, nothing more is claimed.
        if (!room.isTaken) this.#free--
        room.isTaken = true
        await sleep(wait, this.#abort.signal).catch(() => {})
      }
    }
  }

  #leave(room: Room): void {
    if (!room.isTaken) return
    room.isTaken = false
    this.#free++
    this.#wakeOne()
    this.#deps.onCapacity()
  }

  /** Renews the leases of the entries at work, one renewal at a time. */
  #startHeartbeat(): void {
    if (this.#heartbeat !== undefined) return
    const { inbox, onStoreError } = this.#deps
    let isRenewing = false
    const beat = async () => {
      if (isRenewing) return
      isRenewing = true
      const began = performance.now()
      await inbox.renew().catch((error) => onStoreError({ asked: 'renew', error, began }))
      isRenewing = false
    }
    this.#heartbeat = setInterval(beat, Math.min(inbox.lease / 3, maxBeat))
    this.#heartbeat.unref?.()
  }

  #stopHeartbeat(): void {
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }
}
