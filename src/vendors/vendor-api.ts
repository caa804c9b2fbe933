// Requests to a vendor's API: a request is data, with places for credentials and ids. The credentials
// stay in a closure, so that nothing that is printed or serialised shows them.
import { WebhookError } from '../errors.ts'
import { orAborted } from '../foundation/abortable.ts'
import { readStream } from '../foundation/bytes.ts'
import {
  checkFunction,
  checkMilliseconds,
  checkOptionNames,
  invalid,
  kindShown,
  shown,
} from '../foundation/check.ts'
import { readRetryAfter } from '../foundation/clock.ts'
import { decodeUtf8, parseJson } from '../foundation/json.ts'
import { valueAt } from '../protocol/json-paths.ts'
import type { VendorCall, VendorLogin, VendorRequest } from '../protocol/vendor.ts'

const credentialNames = ['token', 'key', 'secret', 'clientId'] as const

/** The names of credentials; each vendor needs one or two of them. */
export type ApiCredential = (typeof credentialNames)[number]

interface ApiConnection {
  /** Replaces the vendor's address: its sandbox, a region, or a test server. */
  readonly baseUrl?: string
  readonly fetch?: typeof fetch
  /** Milliseconds for a read; default 5,000. */
  readonly timeout?: number
}

/** The `api` option of a preset: the credentials of the vendor's API. */
export type VendorApi<Credential extends ApiCredential = never> = ApiConnection & {
  readonly [Name in Credential]: string
} & { readonly [Name in ApiCredential]?: string }

/** Gives the text of a place in a path or body. */
type PlaceValue = (place: string) => string | undefined

/** Reads a record by its request. */
export type ReadRecord = (
  request: VendorRequest,
  value: PlaceValue,
  signal: AbortSignal,
) => Promise<unknown>

const maxRecord = 4 * 1024 ** 2
const longestPause = 24 * 60 * 60 * 1000

/**
 * Checks the credentials, and returns the function that reads by them.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function createReadRecord(
  vendor: string,
  requests: readonly VendorRequest[],
  api: VendorApi,
): ReadRecord {
  const by = `api of ${vendor}`
  checkOptionNames(by, api, [...credentialNames, 'baseUrl', 'fetch', 'timeout'])
  const needed = requests.flatMap((one) => (one.login ? placesOf(one.login) : placesOf(one)))
  for (const name of credentialNames) {
    const value: unknown = api[name]
    if (!needed.includes(name) || (typeof value === 'string' && value.trim() !== '')) continue
    // Never the value: it may be a secret.
    throw invalid(`${by} needs ${name}, got ${kindShown(value)}: check the environment variable`)
  }
  const { baseUrl, timeout } = api
  checkFunction(`${by}: fetch`, api.fetch, '(url, init) => fetch(url, init)')
  if (timeout !== undefined) checkMilliseconds(`${by}: timeout`, timeout)
  if (baseUrl !== undefined && !/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw invalid(`${by}: baseUrl must be an http address, got ${shown(baseUrl)}`)
  }
  const connection = new VendorConnection(vendor, api)
  return (request, value, signal) => connection.read(request, value, signal)
}

interface Token {
  readonly text: Promise<string>
  /** The end of its use, by `performance.now()`. */
  readonly until: number
}

interface FailedRead {
  readonly status?: number
  /** Milliseconds. */
  readonly retryAfter?: number
}

class VendorConnection {
  readonly #vendor: string
  readonly #api: VendorApi
  /** The vendor's limit is for the account, so one answer holds back every read. */
  #pausedUntil = 0
  #token: Token | undefined

  constructor(vendor: string, api: VendorApi) {
    this.#vendor = vendor
    this.#api = api
  }

  async read(request: VendorRequest, value: PlaceValue, signal: AbortSignal): Promise<unknown> {
    const { login } = request
    if (!login) return this.#call(request, { value, api: this.#api }, signal)
    const token = await orAborted(this.#signedIn(login), signal)
    return this.#call(request, { value, api: { ...this.#api, token } }, signal).catch((error) => {
      if (error.status === 401) this.#token = undefined
      throw error
    })
  }

  #signedIn(login: VendorLogin): Promise<string> {
    const now = performance.now()
    if (this.#token && now < this.#token.until) return this.#token.text
    const text = this.#call(login, { value: () => undefined, api: this.#api }).then((answer) => {
      const token = valueAt(answer, login.token)
      if (typeof token === 'string') return token
      throw this.#failed('gave no token', {})
    })
    this.#token = { text, until: now + login.lifetime }
    text.catch(() => {
      this.#token = undefined
    })
    return text
  }

  async #call(call: VendorCall, filling: Filling, signal?: AbortSignal): Promise<unknown> {
    const pause = this.#pausedUntil - Date.now()
    if (pause > 0) throw this.#failed('asked to wait', { retryAfter: pause })
    const { timeout = 5000 } = this.#api
    const over = new AbortController()
    const stop = () => over.abort(signal?.reason)
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
    const message = `the API of ${this.#vendor} did not answer within ${timeout} ms`
    const late = () => over.abort(new DOMException(message, 'TimeoutError'))
    const timer = setTimeout(late, timeout)
    try {
      return await this.#exchange(filled(call, filling), over.signal)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
  }

  async #exchange({ url, init }: ReturnType<typeof filled>, until: AbortSignal): Promise<unknown> {
    const { fetch: send = globalThis.fetch } = this.#api
    // A redirect would take the credentials along; workers know no `redirect: 'error'`.
    const sent = send(url, { ...init, redirect: 'manual', signal: until })
    const { status, headers, ok, redirected, body } = await orAborted(sent, until)
    if (!ok || redirected) {
      void body?.cancel().catch(() => {})
      throw this.#refused(status, headers)
    }
    const bytes = await readStream(body, { most: maxRecord, signal: until })
    const text = bytes && decodeUtf8(bytes)
    const json = text === undefined ? undefined : parseJson(text)
    if (!json) throw this.#failed(`answered ${status} without JSON`, {})
    return json.value
  }

  #refused(status: number, headers: Headers): WebhookError {
    const isPause = status === 429 || status === 503
    const asked = isPause ? readRetryAfter(headers, new Date()) : undefined
    if (asked === undefined) return this.#failed(`answered ${status}`, { status })
    const retryAfter = Math.min(asked, longestPause)
    this.#pausedUntil = Date.now() + retryAfter
    return this.#failed(`answered ${status}`, { status, retryAfter })
  }

  #failed(what: string, more: FailedRead): WebhookError {
    const message = `the API of ${this.#vendor} ${what}: the read is repeated`
    return Object.assign(new WebhookError('DECISION_UNREAD', message), more)
  }
}

const place = /\{([\w.]+)\}/g

/** The names of all places of a request. */
function placesOf({ path, headers, body, form }: VendorCall): readonly string[] {
  const texts = [path, ...[headers, body, form].flatMap((one) => Object.values(one ?? {}))]
  const names = texts.flatMap((text) => [...text.matchAll(place)].map(([, name = '']) => name))
  return names.includes('basic') ? [...names, 'key', 'secret'] : names
}

interface Filling {
  readonly api: VendorApi
  readonly value: PlaceValue
}

function filled(call: VendorCall, { api, value }: Filling) {
  const textAt = (name: string): string | undefined => {
    if (name === 'basic') return btoa(`${api.key}:${api.secret}`)
    return credentialNames.find((one) => one === name) ? api[name as ApiCredential] : value(name)
  }
  const fill = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(texts).map(([field, text]) => {
        return [field, text.replaceAll(place, (_, name) => textAt(name) ?? '')]
      }),
    )
  const { method = 'GET', baseUrl, headers = {}, body, form } = call
  const path = call.path.replaceAll(place, (_, name) => segment(textAt(name)))
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
  const content = form
    ? String(new URLSearchParams(fill(form)))
    : body && JSON.stringify(fill(body))
  return {
    url: (api.baseUrl ?? baseUrl).replace(/\/+$/, '') + path,
    init: {
      method,
      headers: {
        accept: 'application/json',
        ...(content !== undefined && { 'content-type': type }),
        ...fill(headers),
      },
      ...(content !== undefined && { body: content }),
    },
  }
}

/** Encodes an id, which no signature may cover: it must not lead to another address. */
function segment(id: string | undefined): string {
  if (id !== undefined && !/^\.{0,2}$/.test(id)) return encodeURIComponent(id)
  throw new WebhookError('DECISION_UNREAD', 'the event does not name the record of its decision')
}
