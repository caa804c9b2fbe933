// The subscription routes of a service that has them; the sandbox does.
import { sleep } from '../../../../src/foundation/abortable.ts'
import { CliError, exitCodes } from '../../exit-code.ts'
import { printable } from '../../output.ts'
import {
  deliveriesPath,
  listUndelivered,
  readDeliveries,
  type Undelivered,
} from './delivery-list.ts'
import { hasNextPage, readSubscription, readSubscriptions, type Subscription } from './plan.ts'

/** The routes of a service that the migration calls. */
export interface SubscriptionService {
  readonly url: string
  /** Every page of the list, and the active ones of these ids that it lacks: a list can lag. */
  list(ids?: Iterable<string>): Promise<readonly Subscription[]>
  create(input: Omit<Subscription, 'id'>): Promise<Subscription>
  setEvents(id: string, events: readonly string[]): Promise<void>
  remove(id: string): Promise<void>
  /** Whether a subscription has delivered anything. */
  hasDelivered(id: string): Promise<boolean>
  /** The deliveries that a deletion would drop; none where the service does not show them. */
  undelivered(id: string): Promise<readonly Undelivered[]>
}

/** Where the service is. */
export interface ServiceOptions {
  readonly url: string
  readonly apiKey?: string | undefined
}

/** Talks to the routes under `/_sandbox` of an address. */
export function subscriptionService(options: ServiceOptions): SubscriptionService {
  const base = options.url.replace(/\/+$/, '').replace(/\/(v2\/api|_sandbox)$/, '')
  const call = (method: string, path: string, more: Pick<Call, 'body' | 'absent'> = {}) =>
    request(options, { method, url: `${base}/_sandbox${path}`, ...more })
  const one = (id: string) => `/subscriptions/${encodeURIComponent(id)}`
  const find = async (id: string) => {
    const json = await call('GET', `${one(id)}?reveal=true`)
    const found = json === undefined ? undefined : readSubscription(json)
    // A service may keep what was deleted, and hide it in its list.
    return found?.active && found.others?.deletedAt === undefined ? found : undefined
  }
  return {
    url: base,
    async list(ids = []) {
      const all = await listPages((query) => call('GET', `/subscriptions?reveal=true${query}`))
      for (const id of ids) {
        const found = all.has(id) ? undefined : await find(id)
        if (found) all.set(id, found)
      }
      return [...all.values()]
    },
    create: async ({ others, ...input }) =>
      readSubscription(await call('POST', '/subscriptions', { body: { ...others, ...input } })),
    setEvents: async (id, events) => void (await call('PATCH', one(id), { body: { events } })),
    remove: async (id) => void (await call('DELETE', one(id))),
    async hasDelivered(id) {
      const json = await call('GET', deliveriesPath(id, 'delivered'))
      return readDeliveries(json, id, 'delivered').length > 0
    },
    undelivered: (id) => listUndelivered((path) => call('GET', path, { absent: notShown }), id),
  }
}

/** How a service refuses a list, or a filter, that it does not have. */
const notShown = [400, 404, 405, 422, 501]

async function listPages(get: (query: string) => Promise<unknown>) {
  const all = new Map<string, Subscription>()
  for (let page = 1; ; page += 1) {
    const json = await get(page === 1 ? '' : `&page=${page}`)
    const before = all.size
    for (const one of readSubscriptions(json)) all.set(one.id, one)
    if (!hasNextPage(json)) return all
    if (all.size > before) continue
    const message = `page ${page} of the subscriptions has no new one, but the service announces a next page`
    throw new CliError('SERVICE_FAILED', message, exitCodes.failed)
  }
}

/** Whether a failed creation certainly created nothing: refused, or never sent. */
export function wasNotCreated(error: unknown): boolean {
  return (
    error instanceof CliError &&
    /^(SERVICE_REFUSED|SERVICE_UNREACHABLE|SECRET_MISSING)$/.test(error.code)
  )
}

interface Call {
  readonly method: string
  readonly url: string
  readonly body?: unknown
  /** Statuses that mean that nothing is found. */
  readonly absent?: readonly number[]
}

/** The response's JSON; undefined when a GET or DELETE finds nothing. */
async function request(options: ServiceOptions, call: Call): Promise<unknown> {
  const { method, url } = call
  const failed = (code: string, why: string) =>
    new CliError(code, `${method} ${new URL(url).pathname}: ${why}`, exitCodes.failed)
  let response: Response
  let text: string
  try {
    response = await send(options, call)
    text = await response.text()
  } catch (error) {
    const unreachable = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/.test(causeOf(error))
    const code = unreachable ? 'SERVICE_UNREACHABLE' : 'SERVICE_SILENT'
    throw failed(code, 'no response: is the service running at that address?')
  }
  const { status } = response
  const { absent = method === 'GET' || method === 'DELETE' ? [404] : [] } = call
  if (absent.includes(status)) return undefined
  if (status >= 300 && status < 400) {
    const why = 'redirects are not followed, because the API key would go with them'
    throw failed('SERVICE_REFUSED', `the service responded ${status}; ${why}: correct the address`)
  }
  if (!response.ok) {
    const code = status < 500 ? 'SERVICE_REFUSED' : 'SERVICE_FAILED'
    throw failed(code, `the service responded ${status}${messageOf(text)}`)
  }
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    throw failed('SERVICE_FAILED', 'the response is not JSON')
  }
}

const maxTries = 4
const maxRetryAfter = 60

/** Sends; a rate-limited GET is repeated after the time that the service asks for. */
async function send({ apiKey }: ServiceOptions, { method, url, body }: Call): Promise<Response> {
  for (let tried = 1; ; tried += 1) {
    const response = await fetch(url, {
      method,
      headers: {
        ...(apiKey !== undefined && { 'x-api-key': apiKey }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'manual',
      // Not the signal of Ctrl-C: a change that has begun is completed.
      signal: AbortSignal.timeout(30_000),
    })
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
    const waits = response.status === 429 && method === 'GET' && seconds <= maxRetryAfter
    if (!waits || tried === maxTries) return response
    await response.body?.cancel()
    await sleep(seconds * 1000)
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { readonly code?: unknown }) : undefined
  return String(cause?.code ?? '')
}

/** The message of the service's own error form. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown }
    return typeof message === 'string' ? `: ${printable(message).slice(0, 200)}` : ''
  } catch {
    return ''
  }
}
