// Keeps an API key within its rate (section 8): at most `perMinute` requests in any minute, in the
// order in which they were asked for, and a pause for all callers when the service asks for one.
import {
  checkFunction,
  checkOptionNames,
  checkWholeNumber,
  longestTimer,
} from '../foundation/check.ts'
import { type Clock, createAgeClock } from '../foundation/clock.ts'
import { limits } from '../protocol/resources.ts'

/** Lets requests go one after the other; share one between all clients of a key. */
export interface Limiter {
  /**
   * Resolves when it is the caller's turn, with a function to call when the request has ended.
   * Rejects with the signal's reason if it is aborted first. After `timeout` milliseconds the request
   * counts as ended without that call: some hosts drop a request with all that waits for it.
   * `background` is true for reads that can wait, those of reconcile: they take at most half of the
   * rate.
   */
  acquire(signal?: AbortSignal, timeout?: number, background?: boolean): Promise<() => void>
  /** Pauses all callers for `ms` milliseconds. */
  pause(ms: number): void
  /** The number of callers that wait. */
  readonly waiting: number
}

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** 200 by default, the limit of the Professional and Business plans. */
  readonly perMinute?: number | undefined
  /** By default one that never goes back, and counts the time in which the process was frozen. */
  readonly now?: Clock | undefined
}

const minute = 60_000

/** Milliseconds by which the end of a request may be reported late. */
const slack = 1_000

/** A request whose end was not reported; it counts as running before `until`. */
interface Running {
  readonly until: number
  readonly background: boolean
}

/** A request that ended; it counts for a minute. */
interface Ended {
  readonly at: number
  readonly background: boolean
}

const never = Number.POSITIVE_INFINITY

/**
 * Creates a limiter that the clients of one key can share.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example createClient({ baseUrl, apiKey, limiter: createLimiter({ perMinute: 1000 }) })
 */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  checkOptionNames('createLimiter', options, ['perMinute', 'now'])
  const { perMinute = limits.ratePerMinute, now = createAgeClock() } = options
  checkWholeNumber('perMinute', perMinute)
  checkFunction('now', now, '() => new Date()')
  return new SlidingWindow(perMinute, neverBackwards(now))
}

class SlidingWindow implements Limiter {
  readonly #perMinute: number
  readonly #time: () => number
  /** Callers that wait, and whether they wait in the background. */
  readonly #queue = new Map<() => void, boolean>()
  /**
   * A request counts from its start until a minute after its end: whenever the service counts it,
   * and whatever its window is, that window never exceeds the limit.
   */
  readonly #ended: Ended[] = []
  readonly #running = new Set<Running>()
  /** No running request is overdue before this. */
  #overdueFrom = never
  /** How many of those that count are in the background. */
  #inBackground = 0
  #pausedUntil = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(perMinute: number, time: () => number) {
    this.#perMinute = perMinute
    this.#time = time
  }

  get waiting(): number {
    return this.#queue.size
  }

  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#time() + ms)
    this.#next()
  }

  acquire(signal?: AbortSignal, timeout = never, background = false): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const leave = () => {
        this.#queue.delete(grant)
        this.#next()
        reject(signal?.reason)
      }
      const grant = () => {
        signal?.removeEventListener('abort', leave)
        const running = { until: this.#time() + timeout + slack, background }
        this.#running.add(running)
        if (background) this.#inBackground += 1
        this.#overdueFrom = Math.min(this.#overdueFrom, running.until)
        resolve(() => this.#release(running))
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#queue.set(grant, background)
      this.#next()
    })
  }

  #release(running: Running): void {
    if (!this.#running.delete(running)) return
    this.#ended.push({ at: this.#time(), background: running.background })
    this.#next()
  }

  /** Grants every turn that is free now, and comes back when the next one will be. */
  #next(): void {
    clearTimeout(this.#timer)
    const at = this.#time()
    if (at >= this.#overdueFrom) this.#endOverdue(at)
    while (at - (this.#ended[0]?.at ?? at) >= minute) {
      if (this.#ended.shift()?.background) this.#inBackground -= 1
    }
    for (const [grant, background] of this.#queue) {
      if (at < this.#pausedUntil || this.#isFull()) break
      if (background && this.#isShareFull()) continue
      this.#queue.delete(grant)
      grant()
    }
    if (this.#queue.size === 0) return
    const free = this.#freeFrom(at)
    // When running requests take every place, the end of one of them comes back here.
    if (free === never) return
    const wait = Math.max(1, Math.max(free, this.#pausedUntil) - at)
    this.#timer = setTimeout(() => this.#next(), Math.min(wait, longestTimer))
  }

  /** When the next place can be free for a caller that waits. */
  #freeFrom(at: number): number {
    const isFull = this.#isFull()
    if (!isFull && at < this.#pausedUntil) return at
    // Where a place is free, only callers in the background wait, for one of their own.
    const first = this.#ended.find(({ background }) => isFull || background)
    return Math.min(first?.at ?? never, this.#overdueFrom) + minute
  }

  /** By comparing times: a host that drops a request drops its timers too. */
  #endOverdue(at: number): void {
    this.#overdueFrom = never
    for (const running of this.#running) {
      if (running.until > at) {
        this.#overdueFrom = Math.min(this.#overdueFrom, running.until)
        continue
      }
      this.#running.delete(running)
      this.#ended.push({ at: running.until, background: running.background })
    }
    this.#ended.sort((one, other) => one.at - other.at)
  }

  #isFull(): boolean {
    return this.#running.size + this.#ended.length >= this.#perMinute
  }

  /** Reads in the background leave the other half to those that somebody waits for. */
  #isShareFull(): boolean {
    return this.#inBackground >= Math.max(1, Math.floor(this.#perMinute / 2))
  }
}

/** A clock that was set back must not hold requests until it has caught up. */
function neverBackwards(now: Clock): () => number {
  let last = Number.NEGATIVE_INFINITY
  let offset = 0
  return () => {
    const at = now().getTime()
    if (at + offset < last) offset = last - at
    last = at + offset
    return last
  }
}
