// Whether a request may be sent again, and after how long: pure. What could create something twice
// is never repeated.
import { WebhookError } from '../errors.ts'

/** The `retry` option; times in milliseconds. */
export interface RetryOptions {
  /** How often a request is sent again; 4 by default. */
  readonly retries?: number
  /** The mean of the first wait is half of this; it doubles each time. 500 by default. */
  readonly baseDelay?: number
  /** No wait of ours is longer; 20,000 by default. */
  readonly maxDelay?: number
  /** A longer `Retry-After` is cut to this; 120,000 by default. The wait of ours is added to it. */
  readonly maxRetryAfter?: number
}

export type RetryPolicy = Readonly<Record<keyof RetryOptions, number>>

/** How a request failed, as far as sending it again is concerned. */
export interface Failing {
  /** `again`: whatever the method; `reads`: GET alone; `never`: it would fail the same way. */
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

/**
 * Checks the option: `false` for no retries, a number of them, or all that can be chosen.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function retryPolicy(option: false | number | RetryOptions = {}): RetryPolicy {
  const given: RetryOptions =
    option === false ? { retries: 0 } : typeof option === 'number' ? { retries: option } : option
  const policy = { ...defaults }
  for (const [name, value] of Object.entries(given) as [keyof RetryOptions, unknown][]) {
    if (value === undefined) continue
    if (!Object.hasOwn(defaults, name) || !Number.isSafeInteger(value) || (value as number) < 0) {
      throw new WebhookError(
        'OPTION_INVALID',
        `retry.${name} is ${String(value)}: use ${Object.keys(defaults).join(', ')}, whole numbers from 0`,
      )
    }
    policy[name] = value as number
  }
  return policy
}

/** Milliseconds before the next attempt; undefined when there is none. `dice` is from 0 to 1. */
export function delayBefore(
  { repeat, retryAfter }: Failing,
  sent: { readonly method: 'GET' | 'POST'; readonly attempts: number; readonly dice: number },
  policy: RetryPolicy,
): number | undefined {
  if (sent.attempts > policy.retries) return undefined
  if (repeat === 'never' || (repeat === 'reads' && sent.method !== 'GET')) return undefined
  // Full jitter: callers that failed together do not come back together, nor do those that were
  // told the same time. A Retry-After of nothing says nothing.
  const asked = Math.min(Math.max(0, retryAfter ?? 0), policy.maxRetryAfter)
  return asked + sent.dice * Math.min(policy.maxDelay, policy.baseDelay * 2 ** (sent.attempts - 1))
}

/** `Retry-After` in milliseconds: seconds, or a date, measured by the service's own `Date`. */
export function readRetryAfter(headers: Headers, now: Date): number | undefined {
  const text = headers.get('retry-after')?.trim()
  if (!text) return undefined
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000)
  const until = Date.parse(text)
  if (Number.isNaN(until)) return undefined
  const sent = Date.parse(headers.get('date') ?? '')
  return Math.max(0, until - (Number.isNaN(sent) ? now.getTime() : sent))
}
