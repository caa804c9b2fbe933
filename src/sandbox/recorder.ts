// Writes down what is done to a sandbox, as a scenario that does it again. It keeps a bounded
// number of actions and says so when there were more.
import { toBase64 } from '../encoding.ts'
import { WebhookError } from '../errors.ts'
import { decodeUtf8, parseJson } from '../json.ts'
import type { SubscriptionFilter } from '../protocol/control-schemas.ts'
import type { Scenario } from '../protocol/scenario.ts'
import { apiPath } from './api.ts'
import { controlPath } from './control.ts'
import type { EngineClock } from './engine.ts'
import { bodyRead } from './exchange.ts'
import type { SandboxOptions } from './options.ts'
import type { SandboxState } from './sandbox-state.ts'
import type { Snapshot } from './snapshot.ts'

/** The state as a user resets and restores it, written down, and the scenario of it all. */
export interface Recording {
  readonly recorder: Recorder
  reset(): void
  restore(snapshot: Snapshot): void
  scenario(): Scenario
}

/** What a recording needs to know of how the sandbox began. */
export interface Beginning {
  readonly options: Pick<SandboxOptions, 'rateLimit' | 'subscriptions'>
  readonly seed: string | number
}

export function record(state: SandboxState, { options, seed }: Beginning): Recording {
  const recorder = createRecorder(state.clock)
  const start = state.clock.now().toISOString()
  const { rateLimit, subscriptions } = options
  if (!state.fresh) recorder.restart(state.snapshot())
  return {
    recorder,
    reset() {
      state.reset()
      recorder.restart(state.fresh ? undefined : state.snapshot())
    },
    restore(snapshot) {
      state.restore(snapshot)
      recorder.restart(state.snapshot())
    },
    scenario() {
      const { actions, from, truncated } = recorder.actions()
      if (truncated) {
        const message = `more than ${most} actions were done: call reset() before what should be repeated`
        throw new WebhookError('SCENARIO_FAILED', message)
      }
      return {
        version: 1,
        seed,
        clock: { now: start },
        ...(rateLimit !== undefined && { rateLimit }),
        ...(subscriptions && {
          subscriptions: subscriptions.map(({ events, ...one }) => ({
            ...one,
            // The options were checked when the sandbox was made.
            ...(events && { events: [...events] as SubscriptionFilter[] }),
          })),
        }),
        ...(from && { snapshot: { ...from } }),
        actions,
      }
    },
  }
}

type Action = NonNullable<Scenario['actions']>[number]

export interface Recorder {
  /** Writes down a request that may change something; call what it gives when it is answered. */
  note(request: Request): () => void
  /** Writes down what was done without a request. */
  add(action: Action): void
  /** Begins anew, from a state where one is given. */
  restart(from?: Snapshot): void
  actions(): { readonly actions: Action[]; readonly from?: Snapshot; readonly truncated: boolean }
}

const most = 10_000

export function createRecorder(clock: Pick<EngineClock, 'now'>): Recorder {
  let noted: { request?: Request; action?: Action; readonly at: string }[] = []
  let from: Snapshot | undefined
  let truncated = false

  const push = (one: { request?: Request; action?: Action }) => {
    const entry = { ...one, at: clock.now().toISOString() }
    if (noted.length < most) noted.push(entry)
    else truncated = true
    return entry
  }
  return {
    note(request) {
      if (truncated || !changes(request)) return () => {}
      const entry: (typeof noted)[number] = push({ request })
      // Its body has been read by then; the request itself holds far more than is needed.
      return () => {
        entry.action = toAction(request)
        delete entry.request
      }
    },
    add(action) {
      push({ action })
    },
    restart(snapshot) {
      noted = []
      truncated = false
      from = snapshot
    },
    actions() {
      let last: string | undefined
      const actions = noted.map(({ request, action, at }) => {
        const moved = at !== last
        last = at
        const done = action ?? toAction(request as Request)
        return moved ? { ...done, at } : done
      })
      return { actions, ...(from && { from }), truncated }
    },
  }
}

/** The API counts every request; of the control plane only what is no GET. */
function changes({ method, url }: Request): boolean {
  const { pathname } = new URL(url)
  if (pathname.startsWith(`${apiPath}/`)) return methods.has(method)
  return method !== 'GET' && methods.has(method) && pathname.startsWith(`${controlPath}/`)
}

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

function toAction(request: Request): Action {
  const { pathname, search } = new URL(request.url)
  const bytes = bodyRead(request)
  const text = bytes && decodeUtf8(bytes)
  const json = text === undefined ? undefined : parseJson(text)
  const key = request.headers.get('x-api-key')
  const type = request.headers.get('content-type')
  return {
    request: {
      method: request.method as 'GET',
      path: pathname + search,
      ...(key !== null && { key }),
      ...(bytes && (json && !isJsonless(type) ? { body: json.value } : { bytes: toBase64(bytes) })),
      ...(bytes && isJsonless(type) && { contentType: type ?? '' }),
    },
  }
}

const isJsonless = (type: string | null) => !type?.startsWith('application/json')
