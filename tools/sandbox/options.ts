// The options of a sandbox, and their checks. A data file keeps the options of its first start.

import type { Fetch } from '../../src/client/attempt.ts'
import { checkOptionNames, invalid } from '../../src/foundation/check.ts'
import { defined } from '../../src/foundation/defined.ts'
import type { Vendor } from '../../src/protocol/vendor.ts'
import { called } from './calls.ts'
import { checked } from './exchange.ts'
import { type SubscriptionOption, subscriptionOption } from './schemas/control.ts'
import { optionsSchema } from './schemas/options.ts'
import type { StartOptions } from './schemas/snapshot.ts'
import type { VendorName } from './vendor.ts'

/** The options of `createSandbox`; all have defaults. */
export interface SandboxOptions {
  /** Seed of ids, tokens and random choices; equal seeds and calls give equal bytes. */
  readonly seed?: string | number
  /** A time at which the clock stands still, or a source of time; the system's time by default. */
  readonly now?: Date | string | (() => Date)
  /** A JSON file that keeps the state; by default the state is in memory. */
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
   * vendor does not have are not sent. A preset, or its name.
   */
  readonly vendor?: Vendor | VendorName
  /** Milliseconds that a delivery waits for its answer; 10,000 by default. */
  readonly deliveryTimeout?: number
  /**
   * Sends the deliveries, each as one `Request` object; the global fetch by default. With
   * `toFetch(receiver)` neither side needs a port.
   */
  readonly fetch?: Fetch | undefined
}

/** @throws WebhookError `OPTION_INVALID` */
export function checkOptions(options: SandboxOptions): void {
  checkOptionNames('createSandbox', options, Object.keys(optionsSchema.shape))
  called('createSandbox', () => checked(optionsSchema, options, 'options'))
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

/** @throws WebhookError `OPTION_INVALID` for options that differ from those of the data file */
export function checkSameStart(options: SandboxOptions, saved: StartOptions): void {
  const given = startOptions(options, options.seed ?? saved.seed)
  for (const name of ['seed', 'now', 'secret', 'subscriptions'] as const) {
    // A command line gives a seed as text.
    const textOf = (value: unknown) => JSON.stringify(name === 'seed' ? String(value) : value)
    if (given[name] === undefined || textOf(given[name]) === textOf(saved[name])) continue
    throw invalid(
      `createSandbox: the data file was started with another ${name}: leave ${name} out and change it under /_sandbox, or use another file`,
    )
  }
}
