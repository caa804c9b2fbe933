// The options of a sandbox, checked: what the caller got wrong throws here, with the fix.

import { checkOptionNames } from '../check.ts'
import type { Fetch } from '../client/attempt.ts'
import { WebhookError } from '../errors.ts'
import type { RateOption } from './authenticate.ts'
import { fieldErrors } from './exchange.ts'
import { isSandboxTime, subscriptionBody, timeBoundsWords } from './schemas/control-schemas.ts'
import type { Scenario } from './schemas/scenario.ts'

/** A subscription that exists from the start. */
export interface SubscriptionOption {
  readonly url: string
  /** Names, families, `*`, or older forms; everything by default. */
  readonly events?: readonly string[]
  /** `sandbox.secret` by default. */
  readonly secret?: string
}

/** What `createSandbox` takes; everything has a default. */
export interface SandboxOptions {
  /** Drives ids, tokens and dice; the same seed and the same calls give the same bytes. */
  readonly seed?: string | number
  /** A time to start at and stand still, or a source of time; the system's time by default. */
  readonly now?: Date | string | (() => Date)
  /** A SQLite file that keeps the state; in memory without one. */
  readonly data?: string
  readonly subscriptions?: readonly SubscriptionOption[]
  /** The secret of subscriptions that name none; it follows from the seed by default. */
  readonly secret?: string
  /** Names beside localhost that the control plane answers to, e.g. a container's. */
  readonly hosts?: readonly string[]
  /** Requests per minute for every organization, or false for no limit (section 8). */
  readonly rateLimit?: number | false
  /** Starts as this scenario says and does what it says; options beside it stand above it. */
  readonly scenario?: Scenario | Readonly<Record<string, unknown>>
  /** Seconds that a delivery waits for its answer; 10 by default. */
  readonly deliveryTimeout?: number
  /**
   * Sends the deliveries, each as one `Request` object; the global fetch by default. `toFetch(receiver)`
   * is one: then neither side needs a port.
   */
  readonly fetch?: Fetch | undefined
  /** Sends the mail, e.g. `smtp://127.0.0.1:1025`; `SMTP_URL` by default, '' for none. */
  readonly smtpUrl?: string
}

const optionNames: readonly (keyof SandboxOptions)[] = [
  'seed',
  'now',
  'data',
  'secret',
  'subscriptions',
  'rateLimit',
  'scenario',
  'deliveryTimeout',
  'hosts',
  'fetch',
  'smtpUrl',
]

/**
 * Checks the options.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function checkOptions(options: SandboxOptions): void {
  const { seed, now, data, secret, subscriptions, rateLimit, deliveryTimeout } = options
  checkOptionNames('createSandbox', options, optionNames)
  refuseUnless(seed === undefined || isSeed(seed), 'seed is neither text nor a finite number')
  refuseUnless(
    now === undefined || isTime(now),
    `now is no date, or none that it can be: give a Date, ISO 8601 or a function; it ${timeBoundsWords}`,
  )
  refuseUnless(
    data === undefined || (typeof data === 'string' && data !== ''),
    'data is no file name',
  )
  refuseUnless(isRate(rateLimit), 'rateLimit is neither a whole number from 0 nor false')
  refuseUnless(
    deliveryTimeout === undefined || (deliveryTimeout > 0 && deliveryTimeout <= 86_400),
    'deliveryTimeout is no number of seconds from 0 to 86400',
  )
  refuseUnless(
    options.fetch === undefined || typeof options.fetch === 'function',
    'fetch is no function',
  )
  refuseUnless(
    !options.smtpUrl || URL.canParse(options.smtpUrl),
    'smtpUrl is no address: give one such as smtp://127.0.0.1:1025, or leave it out',
  )
  refuseUnless(
    secret === undefined || subscriptionBody.shape.secret.safeParse(secret).success,
    'secret has fewer than 8 characters, or white space',
  )
  refuseUnless(
    subscriptions === undefined || Array.isArray(subscriptions),
    'subscriptions is no list',
  )
  for (const [at, one] of (subscriptions ?? []).entries()) {
    const read = subscriptionBody.safeParse(one)
    const wrong = read.success ? [] : fieldErrors(read.error.issues)
    const words = wrong.map(({ field, message }) => `subscriptions.${at}.${field}: ${message}`)
    refuseUnless(read.success, words.join('; '))
  }
}

/** A start-up fault of the caller. */
export function refuseUnless(holds: boolean, why: string): void {
  if (!holds) throw new WebhookError('OPTION_INVALID', `createSandbox: ${why}`)
}

const isSeed = (seed: unknown) => typeof seed === 'string' || Number.isFinite(seed)

function isTime(now: Date | string | (() => Date)): boolean {
  const time = typeof now === 'function' ? now() : now
  return isSandboxTime(new Date(time).getTime())
}

function isRate(rate: RateOption): boolean {
  return rate === undefined || rate === false || (Number.isInteger(rate) && rate >= 0)
}
