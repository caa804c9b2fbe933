// One stretch of a worker's work, from its first claim to a drain: how many entries are at work, how
// each attempt is settled, and when all of it is over.

import { orAborted } from '../abortable.ts'
import { RunningHandlers } from '../dispatch.ts'
import type { SettledAs, Work, WorkSource } from '../inbox/work.ts'
import { describeError } from '../observe.ts'
import type { Pipeline } from '../pipeline.ts'
import { type Attempted, attempt } from './attempt.ts'

/** What a shift works with. */
export interface ShiftParts {
  readonly corridor: Pipeline
  readonly inbox: WorkSource
  /** Entries at a time. */
  readonly concurrency: number
  /** Hears that there is room for another claim. */
  room(): void
  settled(work: Work, verdict: Attempted['verdict'], state: SettledAs): void
  trouble(asked: string, error: unknown): void
}

/** What a claim brought: the ends of its runs, and when the next lane is due. */
export interface ClaimedRuns {
  readonly runs: readonly Promise<SettledAs>[]
  readonly next?: number
  /** There may be more. */
  readonly isFull: boolean
}

const released: Attempted = { verdict: { kind: 'released' }, handled: [] }

/** Shared by all that claims for one worker, so that its concurrency holds for all together. */
export class WorkerRun {
  readonly #parts: ShiftParts
  readonly #active = new Set<Work>()
  /** Everything that a drain waits for: handlers at work, commits on their way. */
  readonly #pending = new Set<Promise<unknown>>()
  readonly #abort = new AbortController()
  readonly #running = new RunningHandlers()
  readonly #ending = new AbortController()
  readonly #over = new AbortController()
  #waiting: (() => void)[] = []
  #reserved = 0
  #unsettled = 0
  #beat: ReturnType<typeof setInterval> | undefined

  constructor(parts: ShiftParts) {
    this.#parts = parts
  }

  /** False once it ends: nothing more is claimed. */
  get isOpen(): boolean {
    return !this.#ending.signal.aborted
  }

  /** Aborted as soon as it ends, before handlers have had their time. */
  get ending(): AbortSignal {
    return this.#ending.signal
  }

  get free(): number {
    return this.#parts.concurrency - this.#active.size - this.#reserved
  }

  /** Waits for room, claims as many as there is room for, and works on them. */
  claim(most = Number.POSITIVE_INFINITY): Promise<ClaimedRuns> {
    return this.#track(this.#claim(most))
  }

  /** Keeps the end of the shift waiting for something else. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    return this.#track(work)
  }

  /**
   * Ends it: handlers have `grace` milliseconds before they are aborted, and the store then has the
   * time of one answer to take what they came to. A store that hangs must not keep the process.
   */
  async end(grace: number): Promise<void> {
    this.#ending.abort()
    this.#wake()
    const abort = setTimeout(() => {
      const reason = new DOMException('the worker is shutting down', 'AbortError')
      this.#abort.abort(reason)
      this.#running.abort(reason)
    }, grace)
    const give = setTimeout(() => this.#over.abort(), grace + this.#parts.inbox.timeout)
    await orAborted(this.#quiet(), this.#over.signal).catch(() => {})
    clearTimeout(abort)
    clearTimeout(give)
    this.#over.abort()
    this.#stopBeat()
  }

  async #quiet(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled([...this.#pending])
  }

  async #claim(most: number): Promise<ClaimedRuns> {
    while (this.isOpen && this.free <= 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    if (!this.isOpen) return { runs: [], isFull: false }
    const limit = Math.min(most, this.free)
    this.#reserved += limit
    try {
      const { works, next } = await this.#parts.inbox.claim(limit)
      // A drain began while the claim was on its way: the entries go back as they came.
      const isLate = !this.isOpen
      const runs = works.map((work) => this.#track(this.#work(work, isLate)))
      return { runs, isFull: works.length === limit, ...(next !== undefined && { next }) }
    } finally {
      this.#reserved -= limit
      this.#wake()
    }
  }

  async #work(work: Work, isLate: boolean): Promise<SettledAs> {
    this.#unsettled++
    this.#active.add(work)
    this.#beat ??= this.#startBeat()
    try {
      const attempted = isLate ? released : await this.#attempt(work)
      const settling = this.#settle(work, attempted)
      // At once, so that the claim of the next shares the commit that settles this one.
      this.#leave(work)
      return await settling
    } finally {
      this.#unsettled--
      this.#leave(work)
      if (this.#unsettled === 0) this.#stopBeat()
    }
  }

  /** Whatever goes wrong in it is this entry's, and no other's. */
  async #attempt(work: Work): Promise<Attempted> {
    const { corridor, inbox } = this.#parts
    if (this.#abort.signal.aborted) return released
    try {
      return await attempt(work, { corridor, inbox, running: this.#running })
    } catch (error) {
      const failures = [{ handler: 'worker', code: 'HANDLER_FAILED', error: describeError(error) }]
      const verdict = { kind: 'failed', reason: 'HANDLER_FAILED', failures, fatal: false } as const
      return { verdict, handled: [] }
    }
  }

  async #settle(work: Work, attempted: Attempted): Promise<SettledAs> {
    // Not a race with a promise that lives as long as the worker: it would keep every entry.
    const settling = this.#settleAtLast(work, attempted)
    const state = await orAborted(settling, this.#over.signal).catch(() => 'lost' as const)
    this.#parts.inbox.abandon(work)
    this.#parts.settled(work, attempted.verdict, state)
    return state
  }

  /** Until the store takes it: a handler that has succeeded must not run again for a full disk. */
  async #settleAtLast(work: Work, { verdict, handled }: Attempted): Promise<SettledAs> {
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        return await this.#parts.inbox.settle(work, verdict, handled)
      } catch (error) {
        this.#parts.trouble('settle', error)
        if (this.#abort.signal.aborted) return 'lost'
        // It takes its room back: while nothing can be settled nothing more is claimed.
        this.#active.add(work)
        await pause(wait, this.#abort.signal)
      }
    }
  }

  #leave(work: Work): void {
    if (!this.#active.delete(work)) return
    this.#wake()
    this.#parts.room()
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  #startBeat(): ReturnType<typeof setInterval> {
    let isAsked = false
    const beat = setInterval(async () => {
      if (isAsked) return
      isAsked = true
      await this.#parts.inbox.renew().catch((error) => this.#parts.trouble('renew', error))
      isAsked = false
    }, this.#parts.inbox.lease / 3)
    beat.unref?.()
    return beat
  }

  #stopBeat(): void {
    clearInterval(this.#beat)
    this.#beat = undefined
  }

  async #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#pending.add(work)
    try {
      return await work
    } finally {
      this.#pending.delete(work)
    }
  }
}

function pause(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve()
    }
    const timer = setTimeout(stop, time)
    signal.addEventListener('abort', stop, { once: true })
  })
}
