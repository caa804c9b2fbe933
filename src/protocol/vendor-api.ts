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
import { defined } from '../foundation/defined.ts'
import { decodeUtf8, parseJson } from '../foundation/json.ts'

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

/** A request that reads the record of a verification. */
export interface VendorRequest {
  /** Default `'GET'`. */
  readonly method?: 'POST'
  readonly baseUrl: string
  /** `{id}` stands for the id of the verification, `{a.path}` for a value of the event's body. */
  readonly path: string
  /**
   * `{token}`, `{key}`, `{secret}` and `{clientId}` stand for credentials, `{basic}` for key and
   * secret as Basic authentication has them.
   */
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, with the same places as `path` and `headers`. */
  readonly body?: Readonly<Record<string, string>>
}

/** Reads a record; `value` gives the text of a place in the path or body. */
export type ReadRecord = (
  request: VendorRequest,
  value: (place: string) => string | undefined,
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
  const places = new Set(requests.flatMap(placesOf))
  if (places.has('{basic}')) places.add('{key}').add('{secret}')
  for (const name of credentialNames) {
    const value: unknown = api[name]
    if (!places.has(`{${name}}`)) continue
    if (typeof value === 'string' && value.trim() !== '') continue
    // Never the value: it may be a secret.
    throw invalid(`${by} needs ${name}, got ${kindShown(value)}: check the environment variable`)
  }
  checkFunction(`${by}: fetch`, api.fetch, '(url, init) => fetch(url, init)')
  const { baseUrl, timeout = 5000, fetch: send = globalThis.fetch } = api
  checkMilliseconds(`${by}: timeout`, timeout)
  if (baseUrl !== undefined && !/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw invalid(`${by}: baseUrl must be an http address, got ${shown(baseUrl)}`)
  }
  let pausedUntil = 0
  return async (request, value, signal) => {
    const fail = (what: string, more: { readonly status?: number; readonly retryAfter?: number }) =>
      Object.assign(
        new WebhookError('DECISION_UNREAD', `the API of ${vendor} ${what}: the read is repeated`),
        more,
      )
    // Its limit is for the account, so one answer holds back every read.
    const pause = pausedUntil - Date.now()
    if (pause > 0) throw fail('asked to wait', { retryAfter: pause })
    const { url, init } = filled(request, { baseUrl, api, value })
    const until = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    // A redirect would take the credentials along; workers know no `redirect: 'error'`.
    const sent = send(url, { ...init, redirect: 'manual', signal: until })
    const answer = await orAborted(sent, until)
    const { status, headers, ok, body } = answer
    if (!ok || answer.redirected) {
      const isPause = status === 429 || status === 503
      const asked = isPause ? readRetryAfter(headers, new Date()) : undefined
      const retryAfter = asked === undefined ? undefined : Math.min(asked, longestPause)
      if (retryAfter !== undefined) pausedUntil = Date.now() + retryAfter
      void body?.cancel().catch(() => {})
      throw fail(`answered ${status}`, defined({ status, retryAfter }))
    }
    const bytes = await readStream(body, { most: maxRecord, signal: until })
    const text = bytes && decodeUtf8(bytes)
    const json = text === undefined ? undefined : parseJson(text)
    if (!json) throw fail(`answered ${status} without a JSON record`, {})
    return json.value
  }
}

const place = /\{([\w.]+)\}/g

function placesOf({ headers = {}, body = {} }: VendorRequest): readonly string[] {
  return [...Object.values(headers), ...Object.values(body)].flatMap(
    (one) => one.match(place) ?? [],
  )
}

interface Filling {
  readonly baseUrl: string | undefined
  readonly api: VendorApi
  readonly value: (place: string) => string | undefined
}

function filled(request: VendorRequest, { baseUrl = request.baseUrl, api, value }: Filling) {
  const { method = 'GET', path, headers = {}, body } = request
  const textOf = (name: string): string => {
    const credential = (api as Readonly<Record<string, unknown>>)[name]
    if (typeof credential === 'string') return credential
    return name === 'basic' ? btoa(`${api.key}:${api.secret}`) : (value(name) ?? '')
  }
  const fill = (text: string) => text.replaceAll(place, (_, name: string) => textOf(name))
  const fillAll = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fill(text)]))
  const url =
    baseUrl.replace(/\/+$/, '') + path.replaceAll(place, (_, name) => segment(value(name)))
  const accept = { accept: 'application/json' }
  if (!body) return { url, init: { method, headers: { ...accept, ...fillAll(headers) } } }
  const type = { 'content-type': 'application/json' }
  const sent = { ...accept, ...type, ...fillAll(headers) }
  return { url, init: { method, headers: sent, body: JSON.stringify(fillAll(body)) } }
}

/** Encodes an id, which no signature may cover: it must not lead to another address. */
function segment(id: string | undefined): string {
  if (id !== undefined && !/^\.{0,2}$/.test(id)) return encodeURIComponent(id)
  throw new WebhookError('DECISION_UNREAD', 'the event does not name the record of its decision')
}
