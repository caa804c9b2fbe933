// The options of a sandbox, and their checks. A data file keeps the options of its first start.

import type { Fetch } from '../../src/client/attempt.ts'
import { checkOptionNames, invalid, longestTimer, shown } from '../../src/foundation/check.ts'
import { defined } from '../../src/foundation/defined.ts'
import type { Vendor } from '../../src/protocol/vendor.ts'
import { isPublicKey } from '../../src/signature/hmac/hmac.ts'
import { fieldErrors } from './exchange.ts'
import { isSandboxTime, secret as secretSchema, subscriptionOption } from './schemas/control.ts'
import type { StartOptions } from './schemas/snapshot.ts'

/** A subscription that exists from the start. */
export interface SubscriptionOption {
  readonly url: string
  /** Names, families, `*`, or legacy forms; everything by default. */
  readonly events?: readonly string[]
  /** `sandbox.secret` by default. */
  readonly secret?: string
}

/** The options of `createSandbox`; all have defaults. */
export interface SandboxOptions {
  /** Seed of ids, tokens and random choices; the same seed and calls give the same bytes. */
  readonly seed?: string | number
  /** A time at which the clock stands still, or a source of time; the system's time by default. */
  readonly now?: Date | string | (() => Date)
  /** A JSON file that keeps the state; in memory without one. */
  readonly data?: string
  readonly subscriptions?: readonly SubscriptionOption[]
  /** The secret of subscriptions without their own; derived from the seed by default. */
  readonly secret?: string
  /** Host names besides localhost that the sandbox accepts, e.g. a container's. */
  readonly hosts?: readonly string[]
  /** Requests per minute for every organization, or false for no limit (section 8). */
  readonly rateLimit?: number | false
  /**
   * Sends events as this vendor would: its names, shapes, signature and repeats. Events that the
   * vendor does not have are not sent.
   */
  readonly vendor?: Vendor
  /** Milliseconds that a delivery waits for its answer; 10,000 by default. */
  readonly deliveryTimeout?: number
  /**
   * Sends the deliveries, each as one `Request` object; the global fetch by default. `toFetch(receiver)`
   * is one: then neither side needs a port.
   */
  readonly fetch?: Fetch | undefined
  /** Sends the mail, e.g. `smtp://127.0.0.1:1025`; none is sent without it, or with ''. */
  readonly smtpUrl?: string
}

/** The sandbox has no private key of a vendor. */
const isSignable = (value: unknown) => {
  const { scheme, fixtures } = (value ?? {}) as Partial<Vendor>
  return Array.isArray(fixtures) && scheme !== undefined && !isPublicKey(scheme.algorithm)
}

const isName = (value: unknown) => typeof value === 'string' && value !== ''

const isWhole = (value: unknown, min: number, max = Number.MAX_SAFE_INTEGER) =>
  Number.isInteger(value) && Number(value) >= min && Number(value) <= max

type Check = readonly [holds: (value: unknown) => boolean, what: string]

const checks: Readonly<Record<keyof SandboxOptions, Check>> = {
  seed: [
    (seed) => typeof seed === 'string' || Number.isFinite(seed),
    'a string or a finite number',
  ],
  now: [isTime, 'a Date, an ISO 8601 string or a function returning a Date, from 1970 to 9000'],
  data: [isName, 'the name of a file'],
  secret: [
    (value) => secretSchema.safeParse(value).success,
    'a string of 8 to 256 characters without white space',
  ],
  subscriptions: [Array.isArray, 'an array'],
  rateLimit: [(rate) => rate === false || isWhole(rate, 0), 'a whole number, 0 or more, or false'],
  vendor: [isSignable, 'one of vendors.*() that signs with a shared secret, or signs nothing'],
  deliveryTimeout: [
    (ms) => isWhole(ms, 1, longestTimer),
    'a whole number of milliseconds, 1 or more',
  ],
  hosts: [(value) => Array.isArray(value) && value.every(isName), 'an array of host names'],
  fetch: [(value) => typeof value === 'function', 'a function, e.g. toFetch(receiver)'],
  smtpUrl: [
    (value) => value === '' || /^smtps?:\/\/[^/]/i.test(String(URL.parse(String(value)))),
    'an address such as smtp://127.0.0.1:1025, or an empty string',
  ],
}

/** Options whose value must not be repeated in a message. */
const secretNames = ['secret', 'smtpUrl']

/** @throws WebhookError `OPTION_INVALID` */
export function checkOptions(options: SandboxOptions): void {
  checkOptionNames('createSandbox', options, Object.keys(checks))
  for (const [name, [holds, what]] of Object.entries(checks)) {
    const value: unknown = options[name as keyof SandboxOptions]
    if (value === undefined || holds(value)) continue
    const got = secretNames.includes(name) ? '' : `, got ${shown(value)}`
    throw invalid(`createSandbox: ${name} must be ${what}${got}`)
  }
  for (const [at, one] of (options.subscriptions ?? []).entries()) {
    const read = subscriptionOption.safeParse(one)
    const wrong = read.success ? [] : fieldErrors(read.error.issues)
    const words = wrong.map(({ field, message }) => `subscriptions.${at}.${field}: ${message}`)
    if (words.length > 0) throw invalid(`createSandbox: ${words.join('; ')}`)
  }
}

function isTime(now: unknown): boolean {
  const time: unknown = typeof now === 'function' ? now() : now
  if (!(time instanceof Date) && typeof time !== 'string') return false
  return isSandboxTime(new Date(time).getTime())
}

/** The options that a data file keeps, in the form in which it keeps them. */
export function startOptions(
  { now, secret, subscriptions }: SandboxOptions,
  seed: string | number,
): StartOptions {
  return defined({
    seed,
    now: now === undefined || typeof now === 'function' ? undefined : new Date(now).toISOString(),
    secret,
    subscriptions: subscriptions?.map((one) => defined(subscriptionOption.parse(one))),
  })
}

/**
 * Rejects options other than those that a data file was started with; options that are left out
 * stay as they were.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function checkSameStart(options: SandboxOptions, saved: StartOptions): void {
  const given = startOptions(options, options.seed ?? saved.seed)
  for (const name of ['seed', 'now', 'secret', 'subscriptions'] as const) {
    const isSame =
      name === 'seed'
        ? String(given.seed) === String(saved.seed)
        : JSON.stringify(given[name]) === JSON.stringify(saved[name])
    if (given[name] === undefined || isSame) continue
    throw invalid(
      `createSandbox: the data file was started with another ${name}: leave ${name} out and change it under /_sandbox, or use another file`,
    )
  }
}
