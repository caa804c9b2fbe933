// The options of a client, checked when it is created: mistakes are reported before any call, and
// never with the key in the message.
import {
  checkChoice,
  checkFunction,
  checkMilliseconds,
  checkOptionNames,
  invalid,
} from '../foundation/check.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { warn } from '../foundation/warn.ts'
import { checkedBaseUrl, type PathFamily } from './address.ts'
import type { Fetch } from './attempt.ts'
import { createLimiter, type Limiter } from './limiter.ts'
import { isLocalHost } from './local-host.ts'
import { guardedObserver, type ObserveRequests, warnStrangeAnswers } from './observe-requests.ts'
import type { Sender } from './request.ts'
import { type RequestRetryOptions, retryPolicy } from './retry.ts'
import { ServiceClock } from './service-clock.ts'

/** Options of `createClient`. */
export interface ClientOptions {
  /** The service's address with its version: it ends in `/v2/api`. */
  readonly baseUrl: string
  readonly apiKey: string | undefined
  /**
   * Sends the requests; the global `fetch` by default. It receives one `Request` object, never an
   * address and an init: a wrapper that reads `init` must read the request instead.
   */
  readonly fetch?: Fetch | undefined
  /** Milliseconds for each attempt, its body included; 30,000 by default. */
  readonly timeout?: number | undefined
  /** Retries of requests; `false` or 0 disables them. */
  readonly retry?: false | number | RequestRetryOptions | undefined
  /**
   * A limiter that the clients of one key share, a number of requests per minute, or `false`; 200
   * per minute by default, for this client alone.
   */
  readonly limiter?: Limiter | number | false | undefined
  /** The deprecated `/requests` paths, for services that do not have the canonical ones yet. */
  readonly pathFamily?: PathFamily | undefined
  /** Called after every attempt; by default unexpected response fields become process warnings. */
  readonly observe?: ObserveRequests | undefined
  /**
   * The clock for `Retry-After` dates, observed times and look-ups, and for the limiter that the
   * client creates; by default that limiter has a clock that never goes back.
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
  checkOptionNames('createClient', options, names)
  const { apiKey, timeout = 30_000, pathFamily = 'canonical', now = systemClock } = options
  checkKey(apiKey)
  checkFunction('fetch', options.fetch, '(request) => fetch(request)')
  checkFunction('observe', options.observe, '(attempt) => log.info(attempt)')
  checkFunction('now', options.now, '() => new Date()')
  checkMilliseconds('timeout', timeout)
  checkChoice('pathFamily', pathFamily, ['canonical', 'legacy'])
  if (pathFamily === 'legacy') {
    warn(
      'the legacy paths are deprecated and may be removed with interface release 2.19.0: use canonical ones',
      'LEGACY_PATH',
    )
  }
  const baseUrl = checkedBaseUrl(options.baseUrl)
  warnPlainHttp(baseUrl)
  return {
    baseUrl,
    headers: { 'x-api-key': apiKey, accept: 'application/json' },
    pathFamily,
    // Looked up at each call, so that a global fetch that is replaced later is used.
    fetch: options.fetch ?? ((request) => globalThis.fetch(request)),
    timeout,
    retry: retryPolicy(options.retry),
    limiter: limiterOf(options.limiter, options.now),
    now,
    serviceClock: new ServiceClock(),
    observe: guardedObserver(options.observe ?? warnStrangeAnswers()),
    redact: (text) => text.replaceAll(apiKey, '***'),
  }
}

/** A redirect to https would come too late: the key has gone out with the request. */
function warnPlainHttp(baseUrl: string): void {
  const { protocol, hostname, host } = new URL(baseUrl)
  if (protocol === 'https:' || isLocalHost(hostname)) return
  warn(`the client sends the API key unencrypted to ${host}: use https in baseUrl`, 'PLAIN_HTTP')
}

/** A key that no header can carry would end up in the error that says so. */
function checkKey(apiKey: unknown): asserts apiKey is string {
  if (typeof apiKey !== 'string' || apiKey === '') {
    throw invalid(
      'apiKey is missing: generate one in the admin portal (Settings, General, API Key)',
    )
  }
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw invalid(
      'apiKey contains white space or characters that a header cannot carry: copy it again',
    )
  }
}

function limiterOf(option: ClientOptions['limiter'], now: Clock | undefined): Limiter | undefined {
  if (option === false) return undefined
  if (option === undefined || typeof option === 'number') {
    return createLimiter({ perMinute: option, now })
  }
  if (typeof option?.acquire === 'function' && typeof option.pause === 'function') return option
  throw invalid(
    'limiter must be created with createLimiter(), a number of requests per minute, or false',
  )
}
