// When a failed entry is attempted again: arithmetic only, no timers.
import { checkWholeNumber, invalid } from '../foundation/check.ts'

export interface RetryOptions {
  /**
   * The most attempts; a crash counts, a drain does not.
   *
   * @default 12
   */
  readonly attempts?: number
  /**
   * The longest wait after each attempt, in milliseconds; the last repeats.
   *
   * @default [1_000, …, 28_800_000]
   */
  readonly delays?: readonly number[]
  /**
   * Picks each wait between 0 and the longest.
   *
   * @default Math.random
   */
  readonly random?: () => number
}

/** Waits of 1 s to 8 h: twelve attempts spread over up to about 22 hours. */
export const standardDelays = [
  1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000,
  28_800_000,
] as const

export interface Retry {
  readonly attempts: number
  readonly longest: number
  /** Milliseconds to wait after an attempt failed, or undefined when it was the last. */
  delayAfter(attempt: number): number | undefined
}

/**
 * Checks the option and fills in the defaults. Waits are fully jittered: an outage ends for all
 * entries at once, and their retries must not.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function createRetry(options: RetryOptions = {}): Retry {
  const { attempts = 12, delays = standardDelays, random = Math.random } = options
  checkWholeNumber('retry.attempts', attempts)
  const fits = (delay: unknown) => Number.isFinite(delay) && Number(delay) >= 0
  if (!Array.isArray(delays) || delays.length === 0 || !delays.every(fits)) {
    throw invalid('retry.delays must be an array of milliseconds, e.g. [1000, 60_000]')
  }
  return {
    attempts,
    longest: Math.max(...delays),
    delayAfter: (attempt) => {
      if (attempt >= attempts) return undefined
      const longest = delays[Math.min(attempt, delays.length) - 1] ?? 0
      const share = Number(random())
      // A function that gives no number would make the entry wait for ever.
      return Math.round((share >= 0 && share <= 1 ? share : Math.random()) * longest)
    },
  }
}
