// One stretch of a worker's work, from its first claim to a drain: how many entries are at work, how
// each attempt is settled, and when all of it is over.
import { isProcessEnding } from '../dispatch/in-flight.ts'
import type { RunningHandlers } from '../dispatch/running.ts'
import { sleep } from '../foundation/abortable.ts'
import { Bag, type Placed } from '../foundation/bag.ts'
import { longestTimer } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { deferred } from '../foundation/promises.ts'
import { warnIfItThrows } from '../foundation/warn.ts'
import type { FailedRequest, SettledAs, SettledWork, Work, WorkSource } from '../inbox/work.ts'
import type { Pipeline } from '../pipeline.ts'
import { type Attempted, attempt } from './attempt.ts'
import { ofStep } from './failures.ts'
import { startHeartbeat } from './heartbeat.ts'
import { HandlerScopes } from './scopes.ts'
import { Waiters } from './waiters.ts'

/** Dependencies of a run. */
export interface RunDeps {
  readonly pipeline: Pipeline
  readonly inbox: WorkSource
  /** Entries at a time. */
  readonly concurrency: number
  /** There is room for another claim. */
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

/** Bounds of a claim; without any it works for the worker itself. */
export interface ClaimBounds {
  readonly most?: number
  readonly running?: RunningHandlers
  /** Milliseconds that are left. */
  readonly left?: () => number
  /** Called once it has room, before the store is asked. */
  readonly look?: (() => void) | undefined
}

/** The result of a claim: its attempts, and when the next lane is due. */
export interface ClaimedAttempts {
  readonly attempts: readonly Promise<SettledAs>[]
  readonly next?: number
  /** There may be more. */
  readonly isFull: boolean
}

interface Pending extends Placed {
  readonly promise: Promise<unknown>
}

/** An entry that waits for the store to take what became of it. */
interface Settling extends Placed {
  /** Ends the wait. */
  readonly lose: () => void
}

/** One entry's part of the concurrency. */
interface Room {
  isTaken: boolean
}

interface Begun {
  readonly room: Room
  /** By `performance.now()`. */
  readonly began: number
}

const released: Attempted = { verdict: { kind: 'released' }, handled: [] }

/** Shared by all that claims for one worker, so that its concurrency holds for all together. */
export class WorkerRun {
  readonly #deps: RunDeps
  /** Everything that a drain waits for: handlers at work, commits on their way. */
  readonly #pending = new Bag<Pending>()
  readonly #abort = new AbortController()
  /** Its handlers at work. */
  readonly scopes = new HandlerScopes()
  readonly #ending = new AbortController()
  readonly #settling = new Bag<Settling>()
  #isOver = false
  /** Entries that take up room. */
  #active = 0
  readonly #waiting = new Waiters()
  #reserved = 0
  #unsettled = 0
  #endHeartbeat: (() => void) | undefined

  constructor(deps: RunDeps) {
    this.#deps = deps
  }

  /** False once it or the process ends: nothing more is claimed. */
  get isOpen(): boolean {
    return !this.#ending.signal.aborted && !isProcessEnding()
  }

  /** Aborted as soon as it ends, before handlers have had their time. */
  get ending(): AbortSignal {
    return this.#ending.signal
  }

  get active(): number {
    return this.#active
  }

  get free(): number {
    return this.#deps.concurrency - this.#active - this.#reserved
  }

  /** Waits for room while there are milliseconds left, claims as many as fit, and works on them. */
  claim(bounds: ClaimBounds = {}): Promise<ClaimedAttempts> {
    return this.track(this.#claim(bounds))
  }

  /**
   * Ends it: handlers have `grace` milliseconds before they are aborted, and the store then has the
   * time of one answer to take what they came to. A store that hangs must not keep the process.
   */
  async end(grace: number): Promise<void> {
    this.#ending.abort()
    this.#waiting.wakeAll()
    const abort = setTimeout(() => {
      const reason = new DOMException('the worker is shutting down', 'AbortError')
      this.#abort.abort(reason)
      this.scopes.abort(reason)
    }, grace)
    const { promise: late, resolve } = deferred<void>()
    const giveUp = setTimeout(resolve, grace + this.#deps.inbox.timeout)
    await Promise.race([this.#quiet(), late])
    clearTimeout(abort)
    clearTimeout(giveUp)
    this.#isOver = true
    for (const settling of this.#settling.all()) settling.lose()
    this.#stopHeartbeat()
  }

  async #quiet(): Promise<void> {
    while (this.#pending.size > 0) {
      await Promise.allSettled(this.#pending.all().map(({ promise }) => promise))
    }
  }

  async #claim(bounds: ClaimBounds): Promise<ClaimedAttempts> {
    const { most = Number.POSITIVE_INFINITY, look } = bounds
    const { running = this.scopes.whole, left = () => longestTimer } = bounds
    while (this.isOpen && this.free <= 0 && left() > 0) await this.#waiting.wait(left())
    if (!this.isOpen || left() <= 0) {
      // It may have been woken for room that it leaves to the next.
      this.#wake()
      return { attempts: [], isFull: false }
    }
    look?.()
    const limit = Math.min(most, this.free)
    this.#reserved += limit
    this.#wake()
    try {
      const { works, next } = await this.#deps.inbox.claim(limit)
      // A drain began while the claim was on its way: the entries go back as they came.
      const isLate = !this.isOpen
      const attempts = works.map((work) =>
        this.track(this.#work(work, isLate ? undefined : running)),
      )
      return defined({ attempts, isFull: works.length === limit, next })
    } finally {
      this.#reserved -= limit
      this.#wake()
      // A poll that was woken meanwhile found no room.
      if (running !== this.scopes.whole) this.#deps.onCapacity()
    }
  }

  /** Without handlers that may run the entry goes back as it came. */
  async #work(work: Work, running: RunningHandlers | undefined): Promise<SettledAs> {
    const began = performance.now()
    const room: Room = { isTaken: false }
    this.#unsettled++
    this.#take(room)
    const { inbox, onStoreError } = this.#deps
    this.#endHeartbeat ??= startHeartbeat(inbox, onStoreError)
    try {
      const attempted = running ? await this.#attempt(work, running) : released
      const settling = this.#settle(work, attempted, { room, began })
      // At once, so that the claim of the next shares the commit that settles this one.
      this.#leave(room)
      return await settling
    } finally {
      this.#unsettled--
      this.#leave(room)
      if (this.#unsettled === 0) this.#stopHeartbeat()
    }
  }

  /** A failure here concerns this entry alone. */
  async #attempt(work: Work, running: RunningHandlers): Promise<Attempted> {
    const { pipeline, inbox } = this.#deps
    if (this.#abort.signal.aborted) return released
    try {
      return await attempt(work, { pipeline, inbox, running })
    } catch (error) {
      const failures = [ofStep('worker', error)]
      const verdict = { kind: 'failed', reason: 'HANDLER_FAILED', failures, fatal: false } as const
      return { verdict, handled: [] }
    }
  }

  async #settle(work: Work, attempted: Attempted, { room, began }: Begun): Promise<SettledAs> {
    const settled = await this.#orLost(this.#settleAtLast(work, attempted, room))
    this.#deps.inbox.abandon(work)
    const duration = performance.now() - began
    const report = { verdict: attempted.verdict, ...settled, duration }
    // A clock of the user's may throw, and nobody awaits this.
    warnIfItThrows('the report of an entry', () => this.#deps.onSettled(work, report))
    return settled.state
  }

  /**
   * The result of the work, or `lost` once the run is over. Not a race against one promise: that would
   * keep something of every entry for as long as the worker runs.
   */
  #orLost(settling: Promise<SettledWork>): Promise<SettledWork> {
    return new Promise((resolve, reject) => {
      const waiting: Settling = { place: -1, lose: () => resolve({ state: 'lost' }) }
      if (this.#isOver) waiting.lose()
      this.#settling.add(waiting)
      settling.finally(() => this.#settling.delete(waiting)).then(resolve, reject)
    })
  }

  /** Until the store takes it: a handler that has succeeded must not run again for a full disk. */
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
        // It takes its room back: while nothing can be settled nothing more is claimed.
        this.#take(room)
        await sleep(wait, this.#abort.signal).catch(() => {})
      }
    }
  }

  #take(room: Room): void {
    if (room.isTaken) return
    room.isTaken = true
    this.#active++
  }

  #leave(room: Room): void {
    if (!room.isTaken) return
    room.isTaken = false
    this.#active--
    this.#wake()
    this.#deps.onCapacity()
  }

  /** One at a time: it takes all the room there is, or wakes the next. */
  #wake(): void {
    if (this.free > 0) this.#waiting.wakeOne()
  }

  #stopHeartbeat(): void {
    this.#endHeartbeat?.()
    this.#endHeartbeat = undefined
  }

  /** Keeps the end of the run waiting for it. */
  async track<Result>(promise: Promise<Result>): Promise<Result> {
    const pending: Pending = { place: -1, promise }
    this.#pending.add(pending)
    try {
      return await promise
    } finally {
      this.#pending.delete(pending)
    }
  }
}
