// Keeps an API key within its rate (section 8): at most `perMinute` requests in any minute, in the
// order in which they were asked for, and a pause for all callers when the service asks for one.
import {
  checkFunction,
  checkOptionNames,
  checkWholeNumber,
  longestTimer,
} from '../foundation/check.ts'
import { type Clock, steadyClock } from '../foundation/clock.ts'
import { limits } from '../protocol/resources.ts'

/** Lets requests go one after the other; share one between all clients of a key. */
export interface Limiter {
  /**
   * Resolves when it is the caller's turn, with a function to call when the request has ended.
   * Rejects with the signal's reason if it is aborted first. After `timeout` milliseconds the request
   * counts as ended without that call: some hosts drop a request with all that waits for it.
   */
  acquire(signal?: AbortSignal, timeout?: number): Promise<() => void>
  /** Pauses all callers for `ms` milliseconds. */
  pause(ms: number): void
  /** The number of callers that wait. */
  readonly waiting: number
}

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** 200 by default, the limit of the Professional and Business plans. */
  readonly perMinute?: number | undefined
  /** A monotonic clock by default, which corrections of the system's clock do not move. */
  readonly now?: Clock | undefined
}

const minute = 60_000

/** Milliseconds by which the end of a request may be reported late. */
const slack = 1_000

/** A request whose end was not reported; it counts as running before `until`. */
interface Running {
  readonly until: number
}

/**
 * Creates a limiter that the clients of one key can share.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example createClient({ baseUrl, apiKey, limiter: createLimiter({ perMinute: 1000 }) })
 */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  checkOptionNames('createLimiter', options, ['perMinute', 'now'])
  const { perMinute = limits.ratePerMinute, now = steadyClock } = options
  checkWholeNumber('perMinute', perMinute)
  checkFunction('now', now, '() => new Date()')
  return new SlidingWindow(perMinute, neverBackwards(now))
}

class SlidingWindow implements Limiter {
  readonly #perMinute: number
  readonly #time: () => number
  readonly #queue = new Set<() => void>()
  /**
   * A request counts from its start until a minute after its end: whenever the service counts it,
   * and whatever its window is, that window never exceeds the limit.
   */
  readonly #ended: number[] = []
  readonly #running = new Set<Running>()
  /** No running request is overdue before this. */
  #overdueFrom = Number.POSITIVE_INFINITY
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

  acquire(signal?: AbortSignal, timeout = Number.POSITIVE_INFINITY): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const leave = () => {
        this.#queue.delete(grant)
        this.#next()
        reject(signal?.reason)
      }
      const grant = () => {
        signal?.removeEventListener('abort', leave)
        const running = { until: this.#time() + timeout + slack }
        this.#running.add(running)
        this.#overdueFrom = Math.min(this.#overdueFrom, running.until)
        resolve(() => this.#release(running))
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#queue.add(grant)
      this.#next()
    })
  }

  #release(running: Running): void {
    if (!this.#running.delete(running)) return
    this.#ended.push(this.#time())
    this.#next()
  }

  /** Grants every turn that is free now, and comes back when the next one will be. */
  #next(): void {
    clearTimeout(this.#timer)
    const at = this.#time()
    if (at >= this.#overdueFrom) this.#endOverdue(at)
    while (at - (this.#ended[0] ?? at) >= minute) this.#ended.shift()
    for (const grant of this.#queue) {
      if (at < this.#pausedUntil || this.#isFull()) break
      this.#queue.delete(grant)
      grant()
    }
    if (this.#queue.size === 0) return
    const ended = Math.min(this.#ended[0] ?? Number.POSITIVE_INFINITY, this.#overdueFrom)
    const free = this.#isFull() ? ended + minute : at
    // When running requests take every place, the end of one of them comes back here.
    if (free === Number.POSITIVE_INFINITY) return
    const wait = Math.max(1, Math.max(free, this.#pausedUntil) - at)
    this.#timer = setTimeout(() => this.#next(), Math.min(wait, longestTimer))
  }

  /** By comparing times: a host that drops a request drops its timers too. */
  #endOverdue(at: number): void {
    this.#overdueFrom = Number.POSITIVE_INFINITY
    for (const running of this.#running) {
      if (running.until > at) {
        this.#overdueFrom = Math.min(this.#overdueFrom, running.until)
        continue
      }
      this.#running.delete(running)
      this.#ended.push(running.until)
    }
    this.#ended.sort((one, other) => one - other)
  }

  #isFull(): boolean {
    return this.#running.size + this.#ended.length >= this.#perMinute
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
