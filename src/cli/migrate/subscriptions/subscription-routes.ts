// The subscription routes of whatever speaks them; the sandbox does.
import { CliError, exitCodes } from '../../exit-code.ts'
import { readSubscription, readSubscriptions, type Subscription } from './plan.ts'

/** What the migration asks of a service. */
export interface SubscriptionService {
  readonly url: string
  list(): Promise<readonly Subscription[]>
  get(id: string): Promise<Subscription | undefined>
  create(input: Omit<Subscription, 'id'>): Promise<Subscription>
  setEvents(id: string, events: readonly string[]): Promise<void>
  remove(id: string): Promise<void>
  /** The ids of what a subscription has brought to its receiver. */
  delivered(id: string): Promise<readonly string[]>
}

/** How a service is reached. */
export interface ServiceOptions {
  readonly url: string
  readonly apiKey?: string | undefined
}

/** Speaks to the routes under `/_sandbox` of an address. */
export function subscriptionService(options: ServiceOptions): SubscriptionService {
  const base = options.url.replace(/\/+$/, '').replace(/\/(v2\/api|_sandbox)$/, '')
  const ask = (method: string, path: string, body?: unknown) =>
    request(options, { method, url: `${base}/_sandbox${path}`, body })
  const one = (id: string) => `/subscriptions/${encodeURIComponent(id)}`
  return {
    url: base,
    list: async () => readSubscriptions(await ask('GET', '/subscriptions?reveal=true')),
    async get(id) {
      const found = await ask('GET', `${one(id)}?reveal=true`)
      return found === undefined ? undefined : readSubscription(found)
    },
    create: async ({ others, ...input }) =>
      readSubscription(await ask('POST', '/subscriptions', { ...others, ...input })),
    setEvents: async (id, events) => void (await ask('PATCH', one(id), { events })),
    remove: async (id) => void (await ask('DELETE', one(id))),
    async delivered(id) {
      const query = new URLSearchParams({ subscriptionId: id, status: 'delivered' })
      const answer = await ask('GET', `/deliveries?${query}`)
      const list = Array.isArray(answer) ? answer : (answer as { data?: unknown } | undefined)?.data
      if (!Array.isArray(list)) return []
      // A service that does not know the filters sends all.
      return (list as readonly Record<string, unknown>[])
        .filter(({ subscriptionId, status }) => subscriptionId === id && status === 'delivered')
        .map((one, at) => (typeof one.id === 'string' ? one.id : `number ${at + 1}`))
    },
  }
}

interface Asked {
  readonly method: string
  readonly url: string
  readonly body?: unknown
}

/** The answer's JSON; undefined for a GET or DELETE of what is not there. */
async function request({ apiKey }: ServiceOptions, { method, url, body }: Asked) {
  const failed = (why: string) =>
    new CliError('SERVICE_FAILED', `${method} ${new URL(url).pathname}: ${why}`, exitCodes.failed)
  let response: Response
  try {
    response = await fetch(url, {
      method,
      headers: {
        ...(apiKey !== undefined && { 'x-api-key': apiKey }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // Not the signal of Ctrl-C: a change that was begun is ended, and then taken back.
      signal: AbortSignal.timeout(30_000),
    })
  } catch {
    throw failed('no answer: is the service running at that address?')
  }
  const text = await response.text()
  if (response.status === 404 && (method === 'GET' || method === 'DELETE')) return undefined
  if (!response.ok) throw failed(`answered ${response.status}`)
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  } catch {
    throw failed('answered something that is no JSON')
  }
}
