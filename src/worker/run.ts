// One stretch of a worker's work, from its first claim to a drain: claims as many entries as there
// are places, attempts each of them, and settles it.
import { RunningHandlers } from '../dispatch/run.ts'
import { sleep } from '../foundation/abortable.ts'
import { longestTimer } from '../foundation/check.ts'
import { processState } from '../host/process.ts'
import { nextTurn } from '../host/runtime.ts'
import type { FailedRequest, SettledAs, SettledWork, Verdict, Work } from '../inbox/work.ts'
import { type AttemptDeps, type Attempted, attempt } from './attempt.ts'

export interface RunDeps extends AttemptDeps {
  /** The number of places: entries at a time. */
  readonly concurrency: number
  onSettled(entry: TakenEntry, settled: SettledWork): void
  onStoreError(failed: FailedRequest): void
}

/** Bounds of a claim; a claim without bounds works for the worker itself. */
export interface ClaimBounds {
  readonly max?: number
  readonly running?: RunningHandlers
  /** Returns the milliseconds that are left. */
  readonly left?: () => number
}

/** An entry from its claim until it is settled. */
export interface TakenEntry {
  readonly work: Work
  /** When it was claimed, by `performance.now()`. */
  readonly began: number
  /** The number of announcements of work at the time of its claim. */
  readonly announced: number
  /** True if it takes one of the places. */
  hasPlace: boolean
  verdict?: Verdict
  readonly ended: Promise<SettledAs>
  readonly end: (state: SettledAs) => void
}

/** At most this many milliseconds between two claims of a run that polls. */
const maxSleep = 1_000
/** Milliseconds between renewals at most: after a failover 36 s are left to renew a lease. */
const maxBeat = 20_000

const released: Attempted = { verdict: { kind: 'released' }, handled: [] }
const lost: SettledWork = { state: 'lost' }

/** One run for everything that claims for a worker, so that `concurrency` bounds the sum. */
export class WorkerRun {
  readonly #deps: RunDeps
  readonly #process = processState()
  readonly #entries = new Set<TakenEntry>()
  /** A drain waits for these too, such as claims. */
  readonly #pending = new Set<Promise<unknown>>()
  /** The handlers of claims without bounds. */
  readonly #own = new RunningHandlers()
  readonly #scopes = new Set([this.#own])
  readonly #ending = new AbortController()
  /** Aborted once the grace is over. */
  readonly #abort = new AbortController()
  readonly #waiting = new Set<() => void>()
  #isOver = false
  #again = false
  #wakeUp: (() => void) | undefined
  /** The number of announcements of work. */
  #announced = 0
  /** Negative while entries that cannot be settled have taken their places back. */
  #free: number
  #heartbeat: ReturnType<typeof setInterval> | undefined

  constructor(deps: RunDeps) {
    this.#deps = deps
    this.#free = deps.concurrency
  }

  /** False once the run or the process ends: nothing more is claimed. */
  get isOpen(): boolean {
    return !this.#ending.signal.aborted && !this.#process.isEnding
  }

  get active(): number {
    return this.#entries.size
  }

  readonly wake = (): void => {
    this.#announced++
    this.#again = true
    this.#wakeUp?.()
  }

  /**
   * Claims when it is woken and has a place, when the next lane is due, and at least every second,
   * until the run ends. It stays in the async context of its caller: a request may wake it, and that
   * request's context does not belong to other events.
   */
  async poll(): Promise<void> {
    let wait = maxSleep
    while (!this.#ending.signal.aborted) {
      if (!this.#again || this.#free <= 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#wakeUp = resolve
        const time = this.#again ? maxSleep : Math.min(Math.max(Math.ceil(wait), 1), maxSleep)
        const timer = setTimeout(this.#look, time)
        await promise
        clearTimeout(timer)
        continue
      }
      // Entries that end at the same time leave their places to one claim together.
      await nextTurn()
      this.#again = false
      const began = performance.now()
      wait = maxSleep
      try {
        const { isFull, next } = await this.claim()
        if (isFull) this.#again = true
        if (next !== undefined) wait = next - this.#deps.inbox.now().getTime()
      } catch (error) {
        this.#again = false
        this.#deps.onStoreError({ asked: 'claim', error, began })
      }
    }
  }

  readonly #look = (): void => {
    this.#again = true
    this.#wakeUp?.()
  }

  /** Begins a scope whose handlers are aborted after `ms`; after half of it they time out. */
  beginScope(ms: number) {
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

  /** Waits for a place while there is time left, claims as many entries as fit, and attempts them. */
  async claim(bounds: ClaimBounds = {}) {
    const { max = Number.POSITIVE_INFINITY, running = this.#own, left } = bounds
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#pending.add(promise)
    let places = 0
    try {
      while (this.isOpen && this.#free <= 0 && !isOver(left)) await this.#placeOr(left)
      if (!this.isOpen || isOver(left)) return { attempts: [], isFull: false, next: undefined }
      places = Math.min(max, this.#free)
      this.#free -= places
      this.#wakeOne()
      const announced = this.#announced
      const { works, next } = await this.#deps.inbox.leases.claim(places)
      places -= works.length
      // If a drain began meanwhile, the entries go back unchanged.
      const by = this.isOpen ? running : undefined
      const attempts: Promise<SettledAs>[] = []
      for (const work of works) attempts.push(this.#take(work, { announced, running: by }))
      return { attempts, isFull: places === 0, next }
    } finally {
      this.#free += places
      // It may have been woken for a place that the next claim can use.
      this.#wakeOne()
      // The poll may have found no place meanwhile.
      if (running !== this.#own) this.#look()
      this.#pending.delete(promise)
      resolve()
    }
  }

  /** Ends the run: aborts handlers after `grace`, then gives the store one `timeout` to settle. */
  async end(grace: number): Promise<void> {
    this.#ending.abort()
    for (const wake of this.#waiting) wake()
    this.#wakeUp?.()
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
    for (const entry of this.#entries) this.#end(entry, lost)
  }

  track<Result>(promise: Promise<Result>): Promise<Result> {
    this.#pending.add(promise)
    const end = () => this.#pending.delete(promise)
    promise.then(end, end)
    return promise
  }

  async #quiet(): Promise<void> {
    while (this.#pending.size + this.#entries.size > 0) {
      const entries = [...this.#entries].map(({ ended }) => ended)
      await Promise.allSettled([...this.#pending, ...entries])
    }
  }

  /** Resolves when a place may be free, or when the time is over. */
  async #placeOr(left: ClaimBounds['left']): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, Math.min(left?.() ?? longestTimer, longestTimer))
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

  /** Begins the attempt at an entry; without handlers that may run the entry is released. */
  #take(
    work: Work,
    { announced, running }: { announced: number; running: RunningHandlers | undefined },
  ): Promise<SettledAs> {
    const { promise: ended, resolve: end } = Promise.withResolvers<SettledAs>()
    const began = performance.now()
    const entry: TakenEntry = { work, began, announced, hasPlace: true, ended, end }
    this.#entries.add(entry)
    this.#heartbeat ??= this.#startHeartbeat()
    void this.#attempt(entry, running)
    if (this.#isOver) this.#end(entry, lost)
    return ended
  }

  async #attempt(entry: TakenEntry, running: RunningHandlers | undefined): Promise<void> {
    const { inbox } = this.#deps
    const { work } = entry
    const mayRun = running && !this.#abort.signal.aborted
    const attempted = mayRun ? await attempt(work, { ...this.#deps, running }) : released
    entry.verdict = attempted.verdict
    const asked = performance.now()
    const settling = inbox.leases.settle(work, attempted.verdict, attempted.handled)
    // Leave at once, so that the next claim can share the commit that settles this entry.
    this.#leave(entry)
    try {
      this.#end(entry, await settling)
    } catch (error) {
      this.#deps.onStoreError({ asked: 'settle', error, began: asked })
      this.#end(entry, await this.#settleAtLast(entry, attempted))
    }
  }

  /** Repeats until the store settles it: a handler that succeeded must not run again for a full disk. */
  async #settleAtLast(entry: TakenEntry, { verdict, handled }: Attempted): Promise<SettledWork> {
    for (let wait = 100; !this.#abort.signal.aborted; wait = Math.min(wait * 2, 5_000)) {
      // The entry takes its place back: while nothing can be settled, nothing more is claimed.
      if (!entry.hasPlace) this.#free--
      entry.hasPlace = true
      await sleep(wait, this.#abort.signal).catch(() => {})
      const began = performance.now()
      try {
        return await this.#deps.inbox.leases.settle(entry.work, verdict, handled)
      } catch (error) {
        this.#deps.onStoreError({ asked: 'settle', error, began })
      }
    }
    return lost
  }

  #leave(entry: TakenEntry): void {
    if (!entry.hasPlace) return
    entry.hasPlace = false
    const { work, verdict, announced } = entry
    const isEnd = verdict?.kind === 'done' || verdict?.kind === 'skipped'
    // If nothing waits behind this entry and nothing came since its claim, a claim would find nothing.
    const isIdle = isEnd && work.isLast && this.#free > 0 && announced === this.#announced
    this.#free++
    this.#wakeOne()
    if (!isIdle) this.#look()
  }

  /** Ends an entry once; at the end of the run it is lost, whatever the store does. */
  #end(entry: TakenEntry, settled: SettledWork): void {
    if (!this.#entries.delete(entry)) return
    this.#leave(entry)
    if (settled === lost) this.#deps.inbox.leases.abandon(entry.work)
    this.#deps.onSettled(entry, settled)
    entry.end(settled.state)
    if (this.#entries.size > 0) return
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }

  /** Renews the leases of the entries at work, one renewal at a time. */
  #startHeartbeat(): ReturnType<typeof setInterval> {
    const { inbox, onStoreError } = this.#deps
    let isRenewing = false
    const beat = async () => {
      if (isRenewing) return
      isRenewing = true
      const began = performance.now()
      await inbox.leases.renew().catch((error) => onStoreError({ asked: 'renew', error, began }))
      isRenewing = false
    }
    const timer = setInterval(beat, Math.min(inbox.leases.lease / 3, maxBeat))
    timer.unref?.()
    return timer
  }
}

const isOver = (left: ClaimBounds['left']) => left !== undefined && left() <= 0
