// Scenario files: checks one, and runs its actions against a sandbox in order. Every action is a
// request that any user could make.

import { WebhookError } from '../../src/errors.ts'
import { defined } from '../../src/foundation/defined.ts'
import { parseJson } from '../../src/foundation/json.ts'
import type { SandboxOptions } from './options.ts'
import { apiPath, controlPath } from './paths.ts'
import {
  actionIssues,
  type ReadScenario,
  type ScenarioAction,
  scenarioSchema,
} from './schemas/scenario.ts'

/** The parts of a sandbox that a scenario needs. */
interface ScenarioTarget {
  readonly url: string
  readonly apiKey: string
  readonly fetch: (request: Request) => Promise<Response>
}

/** @throws WebhookError `SCENARIO_INVALID` with every place that is wrong */
export function readScenario(value: unknown): ReadScenario {
  const read = scenarioSchema.safeParse(value)
  if (read.success) return read.data
  const wrong = read.error.issues
    .flatMap((issue) => actionIssues(issue, value))
    .map(({ path, message }) => `${path.map(String).join('.') || 'the file'}: ${message}`)
  throw new WebhookError('SCENARIO_INVALID', `the scenario is not valid: ${wrong.join('; ')}`)
}

/** The options of a scenario; those of the caller take precedence. */
export function withScenario(options: SandboxOptions, scenario: ReadScenario): SandboxOptions {
  const { seed, clock, rateLimit, subscriptions } = scenario
  const now = clock && (clock.frozen === false ? runningFrom(clock.now) : clock.now)
  return defined({
    seed,
    now,
    rateLimit,
    subscriptions: subscriptions?.map((one) => defined(one)),
    ...defined(options),
  })
}

/** A source of time that starts at a time and goes on from there. */
function runningFrom(start: string): () => Date {
  const offset = Date.parse(start) - Date.now()
  return () => new Date(Date.now() + offset)
}

/** @throws WebhookError `SCENARIO_FAILED` with the action that was not answered as expected */
export async function runScenario(target: ScenarioTarget, scenario: ReadScenario): Promise<void> {
  const names = new Map<string, string>()
  const { faults, actions } = scenario
  if (faults) await run(target, { action: { faults }, names, where: 'its faults' })
  for (const [index, action] of actions.entries()) {
    const where = `action ${index}`
    if (action.at !== undefined) {
      const { request } = toControl('PUT', '/clock', { now: action.at })
      await run(target, { action: { request, expect: 200 }, names, where })
    }
    await run(target, { action, names, where })
  }
}

interface RunStep {
  readonly action: ScenarioAction
  readonly names: Map<string, string>
  readonly where: string
}

async function run(target: ScenarioTarget, { action, names, where }: RunStep): Promise<void> {
  const { method, path, key = target.apiKey, body } = filled(toRequest(action), names)
  const content = body === undefined ? undefined : JSON.stringify(body)
  const request = new Request(`${target.url}${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(content !== undefined && method !== 'GET' && method !== 'HEAD' && { body: content }),
  })
  const { status, ok, text } = await target
    .fetch(request)
    .then(async (answer) => ({ status: answer.status, ok: answer.ok, text: await answer.text() }))
  const expected = 'request' in action ? action.expect : undefined
  // A request may be meant to fail; every other action must succeed.
  if (expected === undefined ? !ok && !('request' in action) : expected !== status) {
    const wanted = expected === undefined ? '' : `, expected ${expected}`
    const message = `the scenario failed at ${where}: ${method} ${path} answered ${status}${wanted}${errorIn(text)}`
    throw new WebhookError('SCENARIO_FAILED', message)
  }
  if ('as' in action && action.as !== undefined) names.set(action.as, idIn(text))
}

type ScenarioRequest = Extract<ScenarioAction, { readonly request: unknown }>['request']

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

/** Replaces names by ids. In a path, a name that no action gave is taken as an id itself. */
function filled(request: ScenarioRequest, names: ReadonlyMap<string, string>): ScenarioRequest {
  const path = request.path.replaceAll(/\{([\w-]+)\}/g, (_, name: string) => {
    return names.get(name) ?? name
  })
  const inside = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return names.get(/^\{([\w-]+)\}$/.exec(value)?.[1] ?? '') ?? value
    }
    if (Array.isArray(value)) return value.map(inside)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inside(one)]))
  }
  return { ...request, path, body: inside(request.body) }
}

/** The code and message of an error body; never a record. */
function errorIn(text: string): string {
  const body = parseJson(text)?.value as { readonly [name: string]: unknown } | null | undefined
  return typeof body?.code === 'string' ? ` (${body.code}: ${String(body.message)})` : ''
}

function idIn(text: string): string {
  const { id } = JSON.parse(text) as { readonly id?: unknown }
  if (typeof id === 'string') return id
  throw new WebhookError('SCENARIO_FAILED', 'an action with "as" answered without an id')
}
