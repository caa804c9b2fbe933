// A scenario of the sandbox as data: where it starts and what is done to it, so that the same file
// produces the same bytes again.
import * as z from 'zod'
import { isObject } from '../../../src/protocol/json-paths.ts'
import {
  actionsBody,
  advanceBody,
  json,
  sandboxTime,
  seed,
  subscriptionFilters,
} from './control-schemas.ts'

const at = sandboxTime.optional()
/** Names the `id` of the answer; `{name}` stands for it in what follows. */
const as = z
  .string()
  .regex(/^[a-z][\w-]*$/i)
  .optional()
const method = z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
const request = z.strictObject({
  method: method.default('GET'),
  /** From `/v2/api`, `/_sandbox` or `/verify` on. */
  path: z.string().startsWith('/'),
  key: z.string().optional(),
  body: z.unknown().optional(),
  /** A body other than JSON, as base64. */
  bytes: z.base64().optional(),
  contentType: z.string().optional(),
})

/** One action; `at` moves the clock there first. */
export const scenarioAction = z.union([
  z.strictObject({
    create: z.enum(['verification', 'client']),
    body: json.default({}),
    key: z.string().optional(),
    as,
    at,
  }),
  z.strictObject({
    act: z.string(),
    actions: actionsBody.shape.actions,
    force: z.boolean().optional(),
    at,
  }),
  z.strictObject({ request, as, expect: z.int().optional(), at }),
  z.strictObject({ advance: advanceBody, at }),
  z.strictObject({ faults: z.array(json), at }),
  z.strictObject({ flush: z.literal(true), at }),
])

/** The key that tells the kind of an action, in the order of the union. */
const actionKinds = scenarioAction.options.map(({ shape }) => Object.keys(shape)[0] ?? '')

/** A scenario file. */
export const scenarioSchema = z.strictObject({
  version: z.literal(1),
  seed: seed.optional(),
  /** Where the clock begins; it stands still unless `frozen` is false. */
  clock: z.strictObject({ now: sandboxTime, frozen: z.boolean().optional() }).optional(),
  /** Its user chose the secret and must pass it again: it is not written down. */
  secret: z.literal('given').optional(),
  rateLimit: z.union([z.int().min(0), z.literal(false)]).optional(),
  subscriptions: z
    .array(
      z.strictObject({
        url: z.url(),
        events: z.array(z.enum(subscriptionFilters)).optional(),
        secret: z.string().optional(),
      }),
    )
    .optional(),
  faults: z.array(json).optional(),
  /** A state to start from instead of an empty one. */
  snapshot: json.optional(),
  actions: z.array(scenarioAction).default([]),
})

/** The faults of an action by the key that tells its kind; the others it is not meant to be. */
export function actionIssues(issue: z.core.$ZodIssue, value: unknown): readonly z.core.$ZodIssue[] {
  const [list, at] = issue.path
  if (issue.code !== 'invalid_union' || list !== 'actions' || issue.path.length !== 2) {
    return [issue]
  }
  const action: unknown = (value as { actions: readonly unknown[] }).actions[Number(at)]
  const has = (key: string) => isObject(action) && Object.hasOwn(action, key)
  const own = issue.errors[actionKinds.findIndex(has)]
  if (own) return own.map((one) => ({ ...one, path: [...issue.path, ...one.path] }))
  return [{ ...issue, message: `must have one of ${actionKinds.join(', ')}` }]
}

export type Scenario = z.input<typeof scenarioSchema>
export type ReadScenario = z.output<typeof scenarioSchema>
export type ScenarioAction = z.output<typeof scenarioAction>
export type ScenarioSubscription = NonNullable<Scenario['subscriptions']>[number]
