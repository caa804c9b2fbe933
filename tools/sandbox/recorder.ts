// Writes down what is done to a sandbox, as a scenario that does it again. It keeps a bounded
// number of actions and bytes, and says so when there were more.

import { WebhookError } from '../../src/errors.ts'
import { defined } from '../../src/foundation/defined.ts'
import { decodeUtf8, parseJson } from '../../src/foundation/json.ts'
import { toBase64 } from '../../src/signature/encoding.ts'
import { apiPath } from './api.ts'
import type { VirtualClock } from './clock.ts'
import { controlPath } from './control.ts'
import { bodyRead } from './exchange.ts'
import type { SandboxOptions } from './options.ts'
import { profile } from './profile.ts'
import type { Scenario, ScenarioSubscription } from './schemas/scenario.ts'
import type { Snapshot } from './schemas/snapshot.ts'

type RecordedAction = NonNullable<Scenario['actions']>[number]
type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const mostActions = 10_000
const mostBytes = 16 * 1_048_576

interface Entry {
  readonly at: string
  /** The request while it is not answered, then its reader. */
  request?: Request
  read?: () => RecordedAction
}

export class Recorder {
  readonly #clock: VirtualClock
  readonly #start: Omit<Scenario, 'actions'>
  #entries: Entry[] = []
  #bytes = 0
  #truncated = false
  /** The state to start from instead of an empty one. */
  #snapshot: Snapshot | undefined

  constructor(clock: VirtualClock, options: SandboxOptions) {
    const { seed, rateLimit, secret, subscriptions } = options
    this.#clock = clock
    this.#start = defined({
      version: 1 as const,
      seed,
      clock: { now: clock.now().toISOString() },
      // The user's own secret stays with the user; a snapshot has it anyway.
      secret: secret === undefined ? undefined : ('given' as const),
      rateLimit,
      // The options were checked when the sandbox was made.
      subscriptions: subscriptions?.map((one) => ({ ...one }) as ScenarioSubscription),
    })
  }

  /** Records a request that may change something; call what it returns when it is answered. */
  request(request: Request): () => void {
    if (this.#truncated || !changes(request)) return () => {}
    const entry = this.#push({ request }, 0)
    // Its body has been read by then; the request itself holds far more than is needed.
    return () => {
      const body = bodyRead(request)
      entry.read = reader(request, body)
      delete entry.request
      if (this.#entries.includes(entry)) this.#weigh((body?.length ?? 0) + request.url.length)
    }
  }

  /** Records a call as the request to the control plane that does the same. */
  call(method: Method, path: string, body?: unknown): void {
    this.add({ request: defined({ method, path: `${controlPath}${path}`, body }) })
  }

  add(action: RecordedAction): void {
    if (this.#truncated) return
    // As text: what the caller goes on to change is not what was done.
    const text = JSON.stringify(action)
    this.#push({ read: () => JSON.parse(text) as RecordedAction }, text.length)
  }

  /** Begins a new recording, from a state where one is given. */
  restart(snapshot?: Snapshot): void {
    this.#entries = []
    this.#bytes = 0
    this.#truncated = false
    this.#snapshot = snapshot
  }

  /** @throws WebhookError `SCENARIO_FAILED` when more was done than is kept */
  scenario(): Scenario {
    if (this.#truncated) {
      const message = `more was done than is kept (${mostActions} actions, ${mostBytes / 1_048_576} MiB): call reset() before what should be repeated`
      throw new WebhookError('SCENARIO_FAILED', message)
    }
    let last: string | undefined
    const actions = this.#entries.map(({ request, read, at }) => {
      const moved = at !== last
      last = at
      const action = read ? read() : reader(request as Request, undefined)()
      return moved ? { ...action, at } : action
    })
    const snapshot = this.#snapshot
    const start = snapshot ? { ...this.#start, secret: undefined, snapshot } : this.#start
    return defined({ ...start, actions })
  }

  #push(entry: Omit<Entry, 'at'>, size: number): Entry {
    const pushed = { ...entry, at: this.#clock.now().toISOString() }
    this.#entries.push(pushed)
    this.#weigh(size)
    return pushed
  }

  #weigh(size: number): void {
    this.#bytes += size
    if (this.#entries.length <= mostActions && this.#bytes <= mostBytes) return
    this.#truncated = true
    // A part of it would do something else.
    this.#entries = []
  }
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** The API counts every request; elsewhere GET and HEAD change nothing. */
function changes({ method, url }: Request): boolean {
  const { pathname } = new URL(url)
  if (!methods.has(method)) return false
  if (pathname.startsWith(`${apiPath}/`)) return true
  if (method === 'GET' || method === 'HEAD') return false
  return pathname.startsWith(`${controlPath}/`) || pathname.startsWith(profile.subjectPath)
}

/** Holds the body as bytes, which take less memory than the JSON they spell. */
function reader(request: Request, body: Uint8Array | undefined): () => RecordedAction {
  const { pathname, search } = new URL(request.url)
  const method = request.method as Method
  const key = request.headers.get('x-api-key') ?? undefined
  const type = request.headers.get('content-type')
  return () => ({
    request: defined({ method, path: pathname + search, key, ...(body && content(body, type)) }),
  })
}

function content(body: Uint8Array, type: string | null) {
  const isJson = type?.startsWith('application/json') ?? false
  const text = isJson ? decodeUtf8(body) : undefined
  const json = text === undefined ? undefined : parseJson(text, profile.maxLevels)
  if (json) return { body: json.value }
  return defined({ bytes: toBase64(body), contentType: isJson ? undefined : (type ?? '') })
}
