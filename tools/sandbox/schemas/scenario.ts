// A scenario of the sandbox as data: where it starts and what is done to it, so that the same file
// produces the same bytes again.
import * as z from 'zod'
import {
  actionsBody,
  advanceBody,
  json,
  sandboxTime,
  seed,
  subscriptionFilters,
} from './control.ts'

/** Moves the clock there before the action. */
const at = sandboxTime.optional()
/** Names the `id` of the answer; `{name}` stands for it in the actions that follow. */
const as = z
  .string()
  .regex(/^[a-z][\w-]*$/i)
  .optional()
const key = z.string().optional()

const actions = {
  create: z.strictObject({
    create: z.enum(['verification', 'client']),
    body: json.default({}),
    key,
    as,
    at,
  }),
  act: z.strictObject({
    act: z.string(),
    actions: actionsBody.shape.actions,
    force: z.boolean().optional(),
    at,
  }),
  request: z.strictObject({
    request: z.strictObject({
      method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
      /** Begins with `/v2/api`, `/_sandbox` or `/verify`. */
      path: z.string().startsWith('/'),
      key,
      body: z.unknown().optional(),
    }),
    as,
    expect: z.int().optional(),
    at,
  }),
  advance: z.strictObject({ advance: advanceBody, at }),
  faults: z.strictObject({ faults: z.array(json), at }),
  flush: z.strictObject({ flush: z.literal(true), at }),
}

const kinds = Object.keys(actions)

/** A scenario file. */
export const scenarioSchema = z.strictObject({
  version: z.literal(1),
  seed: seed.optional(),
  /** The start of the clock; the clock stands still unless `frozen` is false. */
  clock: z.strictObject({ now: sandboxTime, frozen: z.boolean().optional() }).optional(),
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
  actions: z
    .array(z.union(Object.values(actions), { error: `must have one of ${kinds.join(', ')}` }))
    .default([]),
})

/** Reports the errors of an action for the variant whose key is present, not for all of them. */
export function actionIssues(issue: z.core.$ZodIssue, value: unknown): readonly z.core.$ZodIssue[] {
  const [list, at] = issue.path
  if (issue.code !== 'invalid_union' || list !== 'actions' || issue.path.length !== 2) {
    return [issue]
  }
  const action = (value as { actions: readonly unknown[] }).actions[Number(at)]
  const own = issue.errors[kinds.findIndex((kind) => Object.hasOwn(Object(action), kind))]
  return own?.map((one) => ({ ...one, path: [...issue.path, ...one.path] })) ?? [issue]
}

export type Scenario = z.input<typeof scenarioSchema>
export type ReadScenario = z.output<typeof scenarioSchema>
export type ScenarioAction = ReadScenario['actions'][number]
