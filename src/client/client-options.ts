// The options of a client, checked when it is created: what is wrong is told before any call, and
// never with the key in it.

import { checkOptionNames } from '../check.ts'
import { type Clock, systemClock } from '../clock.ts'
import { WebhookError } from '../errors.ts'
import { warn } from '../warn.ts'
import { checkedBaseUrl, type PathFamily } from './address.ts'
import type { Fetch } from './attempt.ts'
import { createLimiter, type Limiter } from './limiter.ts'
import { guardedObserver, type ObserveRequests, warnStrangeAnswers } from './observe-requests.ts'
import type { Sender } from './request.ts'
import { type RetryOptions, retryPolicy } from './retry.ts'
import { createServiceClock } from './service-clock.ts'

/** Options of `createClient`. */
export interface ClientOptions {
  /** The service's address with its version: it ends in `/v2/api`. */
  readonly baseUrl: string
  readonly apiKey: string | undefined
  /**
   * Sends the requests; the global `fetch` by default. It is given one `Request` object, never an
   * address and an init: what reads `init` must read the request.
   */
  readonly fetch?: Fetch | undefined
  /** Milliseconds for each attempt, its body included; 30,000 by default. */
  readonly timeout?: number | undefined
  /** How requests are repeated; `false` or 0 for never. */
  readonly retry?: false | number | RetryOptions | undefined
  /**
   * A limiter that clients of one key share, a number of requests a minute, or `false`; 200 a
   * minute by default, for this client alone.
   */
  readonly limiter?: Limiter | number | false | undefined
  /** The deprecated `/requests` paths, for services that do not have the canonical ones yet. */
  readonly pathFamily?: PathFamily | undefined
  /** Sees every attempt; by default answers that are not as documented become process warnings. */
  readonly observe?: ObserveRequests | undefined
  /**
   * For `Retry-After` dates, the times that `observe` is told and look-ups of lost creations; given,
   * the limiter that the client makes goes by it too, else by one that nobody sets.
   */
  readonly now?: Clock | undefined
}

const names: readonly (keyof ClientOptions)[] = [
  'baseUrl',
  'apiKey',
  'fetch',
  'timeout',
  'retry',
  'limiter',
  'pathFamily',
  'observe',
  'now',
]

/**
 * Checks the options and prepares what the calls share.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function createSender(options: ClientOptions): Sender {
  if (typeof options !== 'object' || options === null) {
    throw invalid('createClient needs options, at least { baseUrl, apiKey }')
  }
  checkOptionNames('createClient', options, names)
  const { apiKey, timeout = 30_000, now = systemClock } = options
  checkKey(apiKey)
  for (const name of ['fetch', 'observe', 'now'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw invalid(`${name} is no function`)
    }
  }
  if (!Number.isInteger(timeout) || timeout < 1 || timeout >= 2 ** 31) {
    throw invalid(`timeout is ${String(timeout)}: give milliseconds, a whole number from 1`)
  }
  return {
    baseUrl: checkedBaseUrl(options.baseUrl),
    headers: { 'x-api-key': apiKey, accept: 'application/json' },
    pathFamily: checkedFamily(options.pathFamily),
    // Looked up at each call, so that a fetch that is replaced later is used.
    fetch: options.fetch ?? ((request) => globalThis.fetch(request)),
    timeout,
    retry: retryPolicy(options.retry),
    limiter: limiterOf(options.limiter, options.now),
    now,
    serviceClock: createServiceClock(),
    observe: guardedObserver(options.observe ?? warnStrangeAnswers()),
    redact: (text) => text.replaceAll(apiKey, '***'),
  }
}

/** A key that no header can carry would end up in the error that says so. */
function checkKey(apiKey: unknown): asserts apiKey is string {
  if (typeof apiKey !== 'string' || apiKey === '') {
    throw invalid(
      'apiKey is missing: generate one in the admin portal (Settings, General, API Key)',
    )
  }
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw invalid('apiKey holds white space or letters that no header can carry: paste it again')
  }
}

function checkedFamily(family: PathFamily = 'canonical'): PathFamily {
  if (family !== 'canonical' && family !== 'legacy') {
    throw invalid(`pathFamily is '${String(family)}': use canonical or legacy`)
  }
  if (family === 'legacy') {
    warn(
      'the legacy paths are deprecated and may go with interface release 2.19.0: use canonical ones',
      'IDV_LEGACY_PATH',
    )
  }
  return family
}

function limiterOf(option: ClientOptions['limiter'], now?: Clock): Limiter | undefined {
  const clock = now && { now }
  if (option === false) return undefined
  if (option === undefined) return createLimiter(clock)
  if (typeof option === 'number') return createLimiter({ perMinute: option, ...clock })
  if (typeof option?.acquire === 'function' && typeof option.pause === 'function') return option
  throw invalid('limiter is none: use createLimiter(), a number of requests a minute, or false')
}

function invalid(message: string): WebhookError {
  return new WebhookError('OPTION_INVALID', message)
}
