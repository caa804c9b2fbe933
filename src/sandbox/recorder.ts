// Writes down what is done to a sandbox, as a scenario that does it again. It keeps a bounded
// number of actions and bytes, and says so when there were more.

import { WebhookError } from '../errors.ts'
import { decodeUtf8, parseJson } from '../json.ts'
import { toBase64 } from '../signature/encoding.ts'
import { apiPath } from './api.ts'
import { controlPath } from './control.ts'
import { bodyRead } from './exchange.ts'
import type { EngineClock } from './ports.ts'
import { profile } from './profile.ts'
import type { Scenario } from './schemas/scenario.ts'
import type { Snapshot } from './snapshot.ts'

type Action = NonNullable<Scenario['actions']>[number]

export interface Recorder {
  /** Writes down a request that may change something; call what it gives when it is answered. */
  note(request: Request): () => void
  /** Writes down what was done without a request. */
  add(action: Action): void
  /** Begins anew, from a state where one is given. */
  restart(from?: Snapshot): void
  /**
   * What was written down.
   *
   * @throws WebhookError `SCENARIO_FAILED` when it was more than is kept.
   */
  actions(): { readonly actions: Action[]; readonly from?: Snapshot }
}

const mostActions = 10_000
const mostBytes = 16 * 1_048_576

interface Noted {
  readonly at: string
  /** While it is not answered. */
  request?: Request
  read?: () => Action
}

export function createRecorder(clock: Pick<EngineClock, 'now'>): Recorder {
  let noted: Noted[] = []
  let bytes = 0
  let from: Snapshot | undefined
  let truncated = false

  const push = (one: Omit<Noted, 'at'>, size: number): Noted => {
    const entry = { ...one, at: clock.now().toISOString() }
    noted.push(entry)
    weigh(size)
    return entry
  }
  const weigh = (size: number) => {
    bytes += size
    if (noted.length <= mostActions && bytes <= mostBytes) return
    truncated = true
    // A part of it would do something else.
    noted = []
  }
  return {
    note(request) {
      if (truncated || !changes(request)) return () => {}
      const entry = push({ request }, 0)
      // Its body has been read by then; the request itself holds far more than is needed.
      return () => {
        const body = bodyRead(request)
        entry.read = reader(request, body)
        delete entry.request
        if (noted.includes(entry)) weigh((body?.length ?? 0) + request.url.length)
      }
    },
    add(action) {
      if (truncated) return
      // As text: what the caller goes on to change is not what was done.
      const text = JSON.stringify(action)
      push({ read: () => JSON.parse(text) as Action }, text.length)
    },
    restart(snapshot) {
      noted = []
      bytes = 0
      truncated = false
      from = snapshot
    },
    actions() {
      if (truncated) {
        const message = `more was done than is kept (${mostActions} actions, ${mostBytes / 1_048_576} MiB): call reset() before what should be repeated`
        throw new WebhookError('SCENARIO_FAILED', message)
      }
      let last: string | undefined
      const actions = noted.map(({ request, read, at }) => {
        const moved = at !== last
        last = at
        const done = read ? read() : reader(request as Request, undefined)()
        return moved ? { ...done, at } : done
      })
      return { actions, ...(from && { from }) }
    },
  }
}

/** The API counts every request; elsewhere what is no GET may change something. */
function changes({ method, url }: Request): boolean {
  const { pathname } = new URL(url)
  if (!methods.has(method)) return false
  if (pathname.startsWith(`${apiPath}/`)) return true
  if (method === 'GET' || method === 'HEAD') return false
  return pathname.startsWith(`${controlPath}/`) || pathname.startsWith(profile.subjectPath)
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Holds the body as bytes, which cost less than what they say. */
function reader(request: Request, body: Uint8Array | undefined): () => Action {
  const { pathname, search } = new URL(request.url)
  const { method } = request
  const key = request.headers.get('x-api-key')
  const type = request.headers.get('content-type')
  return () => ({
    request: {
      method: method as 'GET',
      path: pathname + search,
      ...(key !== null && { key }),
      ...(body && content(body, type)),
    },
  })
}

function content(body: Uint8Array, type: string | null) {
  const isJson = type?.startsWith('application/json') ?? false
  const text = isJson ? decodeUtf8(body) : undefined
  const json = text === undefined ? undefined : parseJson(text)
  if (json) return { body: json.value }
  return { bytes: toBase64(body), ...(!isJson && { contentType: type ?? '' }) }
}
