// Decides whether a request may be sent again, and after how long. A request that could create
// something twice is never repeated.
import { checkOptionNames, checkWholeNumber } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'

/** The `retry` option of a client; times in milliseconds. */
export interface RequestRetryOptions {
  /** The number of times that a request is sent again; 4 by default. */
  readonly retries?: number | undefined
  /** The mean of the first delay is half of this; it doubles each time. 500 by default. */
  readonly baseDelay?: number | undefined
  /** The longest delay of our own; 20,000 by default. */
  readonly maxDelay?: number | undefined
  /** A longer `Retry-After` is cut to this; 120,000 by default. Our own delay is added to it. */
  readonly maxRetryAfter?: number | undefined
}

export type RetryPolicy = Readonly<Record<keyof RequestRetryOptions, number>>

export interface Failing {
  /** `again` repeats any method, `reads` only GET. After `never`, a repeat would fail likewise. */
  readonly repeat: 'again' | 'reads' | 'never'
  /** Milliseconds that the service asked for. */
  readonly retryAfter?: number | undefined
}

const defaults: RetryPolicy = {
  retries: 4,
  baseDelay: 500,
  maxDelay: 20_000,
  maxRetryAfter: 120_000,
}

/** @throws WebhookError `OPTION_INVALID` */
export function retryPolicy(option: false | number | RequestRetryOptions = {}): RetryPolicy {
  const retries = option === false ? 0 : option
  const given = typeof retries === 'number' ? { retries } : retries
  checkOptionNames('retry', given, Object.keys(defaults))
  const policy: RetryPolicy = { ...defaults, ...defined(given) }
  for (const [name, value] of Object.entries(policy)) {
    checkWholeNumber(`retry.${name}`, value, { least: 0 })
  }
  return policy
}

/** Milliseconds before the next attempt; undefined if there is none. `dice` is from 0 to 1. */
export function delayBefore(
  { repeat, retryAfter }: Failing,
  sent: { readonly method: 'GET' | 'POST'; readonly attempts: number; readonly dice: number },
  policy: RetryPolicy,
): number | undefined {
  if (sent.attempts > policy.retries) return undefined
  if (repeat === 'never' || (repeat === 'reads' && sent.method !== 'GET')) return undefined
  // Full jitter spreads callers that failed together or got the same Retry-After.
  const asked = Math.min(Math.max(0, retryAfter ?? 0), policy.maxRetryAfter)
  return asked + sent.dice * Math.min(policy.maxDelay, policy.baseDelay * 2 ** (sent.attempts - 1))
}
