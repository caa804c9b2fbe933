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
   * Resolves at the caller's turn, with a function to call when the request has ended. Rejects with
   * the signal's reason if it is aborted first. After `timeout` milliseconds the request counts as
   * ended without that call. `background` reads (reconcile's) take at most half of the rate.
   */
  acquire(signal?: AbortSignal, timeout?: number, background?: boolean): Promise<() => void>
  /** Pauses all callers for `ms` milliseconds. */
  pause(ms: number): void
}

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** 200 by default, the limit of the Professional and Business plans. */
  readonly perMinute?: number | undefined
  /**
   * By default a clock that never goes back, and that counts time for which the process was frozen.
   */
  readonly now?: Clock | undefined
}

const minute = 60_000

/** Milliseconds by which the end of a request may be reported late. */
const slack = 1_000

/** A request that counts: from its start until a minute after its end. */
interface Counted {
  /** The latest time at which the request can end, until its end is reported. */
  until: number
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
  return new SlidingWindow(perMinute, () => now().getTime())
}

/** Whenever the service counts a request, no window of it exceeds the limit. */
class SlidingWindow implements Limiter {
  readonly #perMinute: number
  readonly #time: () => number
  /** Callers that wait, and whether they wait in the background. */
  readonly #queue = new Map<() => void, boolean>()
  readonly #counted = new Set<Counted>()
  #pausedUntil = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(perMinute: number, time: () => number) {
    this.#perMinute = perMinute
    this.#time = time
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
        const counted = { until: this.#time() + timeout + slack + minute, background }
        this.#counted.add(counted)
        resolve(() => {
          counted.until = Math.min(counted.until, this.#time() + minute)
          this.#next()
        })
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#queue.set(grant, background)
      this.#next()
    })
  }

  /** Grants every turn that is free now, and comes back when the next one will be. */
  #next(): void {
    clearTimeout(this.#timer)
    const at = this.#time()
    for (const one of this.#counted) if (one.until <= at) this.#counted.delete(one)
    for (const [grant, background] of this.#queue) {
      if (at < this.#pausedUntil || this.#counted.size >= this.#perMinute) break
      if (background && this.#isShareFull()) continue
      this.#queue.delete(grant)
      grant()
    }
    if (this.#queue.size === 0) return
    const ends = [...this.#counted].map(({ until }) => until)
    const next = at < this.#pausedUntil ? this.#pausedUntil : Math.min(never, ...ends)
    // If no counted request has ended, the first that ends calls this method again.
    if (next === never) return
    const wait = Math.max(1, next - at)
    this.#timer = setTimeout(() => this.#next(), Math.min(wait, longestTimer))
  }

  /** Reads in the background leave the other half to other calls. */
  #isShareFull(): boolean {
    const held = [...this.#counted].filter(({ background }) => background).length
    return held >= Math.max(1, Math.floor(this.#perMinute / 2))
  }
}
