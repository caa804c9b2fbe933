// The options of a client, checked when it is created: mistakes are reported before any call, and
// never with the key in the message.
import {
  checkChoice,
  checkFunction,
  checkMilliseconds,
  checkOptionNames,
  invalid,
  shown,
} from '../foundation/check.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { warn, warnIfItThrows, warnOnce } from '../foundation/warn.ts'
import type { Fetch } from './attempt.ts'
import type { PathFamily } from './call.ts'
import { createLimiter, type Limiter } from './limiter.ts'
import type { ObserveRequests, Sender } from './request.ts'
import { type RequestRetryOptions, retryPolicy } from './retry.ts'

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
   * A limiter that the clients of one key share, a number of requests per minute, or `false`. By
   * default 200 per minute for each client.
   */
  readonly limiter?: Limiter | number | false | undefined
  /** The deprecated `/requests` paths, for services that lack the canonical ones. */
  readonly pathFamily?: PathFamily | undefined
  /** Called after every attempt; by default unexpected response fields become process warnings. */
  readonly observe?: ObserveRequests | undefined
  /**
   * The clock for `Retry-After` dates, and observed times, and for the limiter that the
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

/** @throws WebhookError `OPTION_INVALID` */
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
  const observe = options.observe ?? warnStrangeAnswers()
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
    // Errors of an observer, async ones too, do not reach the call.
    observe: (seen) => warnIfItThrows("the client's observe", () => observe(seen)),
    redact: (text) => text.replaceAll(apiKey, '***'),
  }
}

/** The segment that every base address ends with (section 9). */
const version = '/v2/api'

/** A base address without a trailing slash. @throws WebhookError `OPTION_INVALID` */
function checkedBaseUrl(baseUrl: unknown): string {
  const example = `the service's address with its version, e.g. https://api.example.com${version}`
  const refuse = (why: string) => invalid(`baseUrl must be ${example}; ${why}`)
  if (typeof baseUrl !== 'string') throw refuse(`got ${shown(baseUrl)}`)
  if (!URL.canParse(baseUrl)) throw refuse('this is not a URL')
  const url = new URL(baseUrl)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('use https or http')
  if (url.username || url.password) throw refuse('remove the user name and password')
  if (url.search || url.hash) throw refuse('remove the query or fragment')
  const path = url.pathname.replace(/\/$/, '')
  if (!path.endsWith(version)) throw refuse(`it must end in ${version}`)
  return `${url.origin}${path}`
}

/** Names and addresses of this machine and of private networks (RFC 6761, RFC 6890). */
const localHost =
  /^[^.:]*$|\.(localhost|internal|local|test|home\.arpa)$|^(127|10|192\.168|169\.254|172\.(1[6-9]|2\d|3[01]))\.|^\[(::1\]|f[cd]|fe80)/

/** A redirect to https would come too late: the key has gone out with the request. */
function warnPlainHttp(baseUrl: string): void {
  const { protocol, hostname, host } = new URL(baseUrl)
  if (protocol === 'https:' || localHost.test(hostname)) return
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

/** The default observer: one process warning for each field that differs from the documentation. */
function warnStrangeAnswers(): ObserveRequests {
  const once = warnOnce()
  return ({ endpoint, strange = [] }) => {
    for (const field of strange) {
      const message = `the response of ${endpoint} is not as documented at ${field}; it was used anyway`
      once(message, 'ANSWER_STRANGE')
    }
  }
}
