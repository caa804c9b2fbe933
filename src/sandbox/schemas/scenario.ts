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

export type Scenario = z.input<typeof scenarioSchema>
export type ReadScenario = z.output<typeof scenarioSchema>
export type ScenarioAction = z.output<typeof scenarioAction>
export type ScenarioSubscription = NonNullable<Scenario['subscriptions']>[number]
