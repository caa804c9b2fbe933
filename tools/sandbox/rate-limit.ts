// The fixed window of section 8: how many requests an organization has left, by the sandbox's
// clock. Refused requests do not count.
import { profile } from './profile.ts'

export interface RateVerdict {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Whole seconds until the window resets, at least 1. */
  readonly retryAfter: number
}

/** The start of a window in ms since the epoch, and the requests counted in it. */
export type RateWindow = [start: number, used: number]

const windowMs = profile.rate.windowSeconds * 1000

export class RateLimiter {
  #windows = new Map<string, RateWindow>()

  take(organizationId: string, limit: number, now: Date): RateVerdict {
    const time = now.getTime()
    const window = this.#windows.get(organizationId)
    // A clock that was set back must not leave a window that ends far in the future.
    const fresh = !window || time >= window[0] + windowMs || time < window[0]
    const [start, used] = fresh ? [time, 0] : window
    const allowed = used < limit
    this.#windows.set(organizationId, [start, allowed ? used + 1 : used])
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - used - 1),
      retryAfter: Math.max(1, Math.ceil((start + windowMs - time) / 1000)),
    }
  }

  dump(): Record<string, RateWindow> {
    return Object.fromEntries(this.#windows)
  }

  load(windows: Readonly<Record<string, RateWindow>>): void {
    this.#windows = new Map(Object.entries(windows))
  }
}
