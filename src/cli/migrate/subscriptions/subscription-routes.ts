// The subscription routes of whatever speaks them; the sandbox does.
import { CliError, exitCodes } from '../../exit-code.ts'
import { printable } from '../../output.ts'
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

/** Whether the service has said no: then nothing has changed. */
export function wasRefused(error: unknown): boolean {
  return error instanceof CliError && error.code === 'SERVICE_REFUSED'
}

/** Whether the service was not even reached. */
export function wasNeverSent(error: unknown): boolean {
  return error instanceof CliError && error.code === 'SERVICE_UNREACHABLE'
}

interface Asked {
  readonly method: string
  readonly url: string
  readonly body?: unknown
}

/** The answer's JSON; undefined for a GET or DELETE of what is not there. */
async function request(options: ServiceOptions, asked: Asked) {
  const { method, url } = asked
  const failed = (code: string, why: string) =>
    new CliError(code, `${method} ${new URL(url).pathname}: ${why}`, exitCodes.failed)
  let response: Response
  let text: string
  try {
    response = await send(options, asked)
    text = await response.text()
  } catch (error) {
    const unreachable = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/.test(causeOf(error))
    const code = unreachable ? 'SERVICE_UNREACHABLE' : 'SERVICE_SILENT'
    throw failed(code, 'no answer: is the service running at that address?')
  }
  const { status } = response
  if (status === 404 && (method === 'GET' || method === 'DELETE')) return undefined
  if (!response.ok) {
    const code = status < 500 ? 'SERVICE_REFUSED' : 'SERVICE_FAILED'
    throw failed(code, `answered ${status}${messageOf(text)}`)
  }
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  } catch {
    throw failed('SERVICE_FAILED', 'answered something that is no JSON')
  }
}

/** As often as a look is put off with a time that is worth waiting for. */
const mostTries = 4
const mostSeconds = 60

/** Sends; a GET that comes too soon waits as long as it is told to. */
async function send({ apiKey }: ServiceOptions, { method, url, body }: Asked): Promise<Response> {
  for (let tried = 1; ; tried += 1) {
    const response = await fetch(url, {
      method,
      headers: {
        ...(apiKey !== undefined && { 'x-api-key': apiKey }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // Not the signal of Ctrl-C: a change that was begun is ended, and then taken back.
      signal: AbortSignal.timeout(30_000),
    })
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
    const waits = response.status === 429 && method === 'GET' && seconds <= mostSeconds
    if (!waits || tried === mostTries) return response
    await response.body?.cancel()
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { readonly code?: unknown }) : undefined
  return String(cause?.code ?? '')
}

/** What the service says of it, in its own error form. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown }
    return typeof message === 'string' ? `: ${printable(message).slice(0, 200)}` : ''
  } catch {
    return ''
  }
}
