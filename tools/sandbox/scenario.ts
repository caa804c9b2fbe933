// Scenario files: they are checked, and their actions are run against a sandbox in order. Every
// action is a request that any user could make.

import { WebhookError } from '../../src/errors.ts'
import { defined } from '../../src/foundation/defined.ts'
import { parseJson } from '../../src/foundation/json.ts'
import { fromBase64 } from '../../src/signature/encoding.ts'
import { apiPath } from './api.ts'
import { controlPath } from './control.ts'
import type { SandboxOptions } from './options.ts'
import {
  actionIssues,
  type ReadScenario,
  type ScenarioAction,
  type ScenarioSubscription,
  scenarioSchema,
} from './schemas/scenario.ts'

/** The parts of a sandbox that a scenario needs. */
export interface Target {
  readonly url: string
  readonly apiKey: string
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * Reads a scenario.
 *
 * @throws WebhookError `SCENARIO_INVALID` with every place that is wrong.
 */
export function readScenario(value: unknown): ReadScenario {
  const read = scenarioSchema.safeParse(value)
  if (read.success) return read.data
  const wrong = read.error.issues
    .flatMap((issue) => actionIssues(issue, value))
    .map(({ path, message }) => `${path.map(String).join('.') || 'the file'}: ${message}`)
  throw new WebhookError('SCENARIO_INVALID', `the scenario is not valid: ${wrong.join('; ')}`)
}

/**
 * The options of a scenario; those that the caller gives take precedence.
 *
 * @throws WebhookError `SCENARIO_INVALID` when it needs a secret that nobody gives
 */
export function withScenario(options: SandboxOptions, scenario: ReadScenario): SandboxOptions {
  const { seed, clock, rateLimit, subscriptions } = scenario
  const now = clock && (clock.frozen === false ? runningFrom(clock.now) : clock.now)
  const own = { seed, now, rateLimit, subscriptions: subscriptions?.map(subscriptionOption) }
  const secret = options.secret ?? secretFromEnvironment(scenario)
  return defined({ ...own, ...defined(options), secret })
}

/** A scenario recorded with its user's own secret does not hold it, and needs it to sign alike. */
function secretFromEnvironment({ secret }: ReadScenario): string | undefined {
  if (secret === undefined) return undefined
  const given = process.env.WEBHOOK_SECRET
  if (given) return given
  throw new WebhookError(
    'SCENARIO_INVALID',
    'the scenario was recorded with a secret that it does not hold: pass the same one as WEBHOOK_SECRET or as the option secret',
  )
}

function subscriptionOption({ url, events, secret }: ScenarioSubscription) {
  return defined({ url, events, secret })
}

/** A clock that starts at a time and goes on from there. */
function runningFrom(start: string): () => Date {
  const offset = Date.parse(start) - Date.now()
  return () => new Date(Date.now() + offset)
}

/** @throws WebhookError `SCENARIO_FAILED` with the action whose answer was not as expected */
export async function runScenario(target: Target, scenario: ReadScenario): Promise<void> {
  const names = new Map<string, string>()
  const { snapshot, faults, actions } = scenario
  const opening: ScenarioAction[] = [
    ...(snapshot ? [toControl('PUT', '/snapshot', snapshot)] : []),
    ...(faults ? [{ faults }] : []),
  ]
  for (const [at, action] of [...opening, ...actions].entries()) {
    const where = at < opening.length ? 'its opening' : `action ${at - opening.length}`
    if (action.at !== undefined) {
      await run(target, { action: toControl('PUT', '/clock', { now: action.at }), names, where })
    }
    await run(target, { action, names, where })
  }
}

interface RunStep {
  readonly action: ScenarioAction
  readonly names: Map<string, string>
  readonly where: string
}

async function run(target: Target, { action, names, where }: RunStep): Promise<void> {
  const request = filled(toRequest(action), names)
  const response = await target.fetch(toWebRequest(target, request))
  const text = await response.text()
  const expected = 'request' in action ? action.expect : undefined
  // A request of its own may be meant to fail; everything else must go well.
  const asExpected =
    expected === undefined ? 'request' in action || response.ok : expected === response.status
  if (!asExpected) {
    const wanted = expected === undefined ? '' : `, expected ${expected}`
    const message = `the scenario failed at ${where}: ${request.method} ${request.path} answered ${response.status}${wanted}${errorIn(text)}`
    throw new WebhookError('SCENARIO_FAILED', message)
  }
  if ('as' in action && action.as !== undefined) names.set(action.as, idIn(text))
}

interface ScenarioRequest {
  readonly method: string
  readonly path: string
  readonly key?: string | undefined
  readonly body?: unknown
  readonly bytes?: string | undefined
  readonly contentType?: string | undefined
}

const toControl = (method: 'POST' | 'PUT', path: string, body: unknown) => ({
  request: { method, path: `${controlPath}${path}`, body },
})

function toRequest(action: ScenarioAction): ScenarioRequest {
  if ('request' in action) return action.request
  if ('create' in action) {
    const { create, body, key } = action
    return { method: 'POST', path: `${apiPath}/${create}s`, body, key }
  }
  if ('act' in action) {
    const { act, actions, force } = action
    return toControl('POST', `/verifications/{${act}}/actions`, defined({ actions, force })).request
  }
  if ('advance' in action) return toControl('POST', '/clock/advance', action.advance).request
  if ('faults' in action) return toControl('PUT', '/faults', { faults: action.faults }).request
  return toControl('POST', '/flush', {}).request
}

/** Replaces names by ids; a name that was never given is taken as an id itself. */
function filled(request: ScenarioRequest, names: ReadonlyMap<string, string>): ScenarioRequest {
  const fill = (text: string) =>
    text.replaceAll(/\{([\w-]+)\}/g, (whole, name: string) => {
      return names.get(name) ?? (whole === text ? whole : name)
    })
  const inside = (value: unknown): unknown => {
    if (typeof value === 'string') return names.size > 0 ? (names.get(bare(value)) ?? value) : value
    if (Array.isArray(value)) return value.map(inside)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inside(one)]))
  }
  return { ...request, path: fill(request.path), body: inside(request.body) }
}

/** The name in `{name}`; empty for other text. */
const bare = (text: string) => /^\{([\w-]+)\}$/.exec(text)?.[1] ?? ''

function toWebRequest({ url, apiKey }: Target, request: ScenarioRequest): Request {
  const { method, path, key = apiKey, body, bytes, contentType = 'application/json' } = request
  const json = body === undefined ? undefined : JSON.stringify(body)
  const content: BodyInit | undefined = bytes === undefined ? json : decoded(bytes)
  return new Request(`${url}${path}`, {
    method,
    headers: { 'x-api-key': key, ...(content !== undefined && { 'content-type': contentType }) },
    ...(content !== undefined && method !== 'GET' && method !== 'HEAD' && { body: content }),
  })
}

const decoded = (base64: string) => new Uint8Array(fromBase64(base64) ?? [])

/** The code and message of an error body; never a record. */
function errorIn(text: string): string {
  const body = parseJson(text)?.value as {
    readonly code?: unknown
    readonly message?: unknown
  } | null
  return typeof body?.code === 'string' ? ` (${body.code}: ${String(body.message)})` : ''
}

function idIn(text: string): string {
  const { id } = JSON.parse(text) as { readonly id?: unknown }
  if (typeof id === 'string') return id
  throw new WebhookError('SCENARIO_FAILED', 'an action with "as" answered without an id')
}
