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

/** organization → [start of its window in ms, requests in it] */
export type RateWindows = Readonly<Record<string, readonly [start: number, used: number]>>

export interface RateLimiter {
  take(organizationId: string, limit: number, now: Date): RateVerdict
  dump(): RateWindows
  load(windows: RateWindows): void
}

const windowMs = profile.rate.windowSeconds * 1000

export function createRateLimiter(): RateLimiter {
  const windows = new Map<string, readonly [start: number, used: number]>()
  return {
    take(organizationId, limit, now) {
      const time = now.getTime()
      const window = windows.get(organizationId)
      // A clock that was set back must not leave a window that ends far in the future.
      const fresh = !window || time >= window[0] + windowMs || time < window[0]
      const [start, used] = fresh ? [time, 0] : window
      const allowed = used < limit
      windows.set(organizationId, [start, allowed ? used + 1 : used])
      return {
        allowed,
        limit,
        remaining: Math.max(0, limit - used - 1),
        retryAfter: Math.max(1, Math.ceil((start + windowMs - time) / 1000)),
      }
    },
    dump: () => Object.fromEntries(windows),
    load(saved) {
      windows.clear()
      for (const [id, window] of Object.entries(saved)) windows.set(id, window)
    },
  }
}
