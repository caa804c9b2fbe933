// The bodies, queries and answers of the sandbox's control plane, as schemas, and the form of its
// routes. None of this is part of the service's own document.
import * as z from 'zod'
import { type DeepReadonly, endpoints } from '../../../src/client/contract.ts'
import { eventNames, families, legacyFamily, legacyNames } from '../../../src/protocol/names.ts'
import { dateTime } from '../../../src/protocol/resources.ts'
import { requirementNames } from '../../../src/protocol/values.ts'
import { actionNames } from '../transitions.ts'

export const json = z.record(z.string(), z.unknown())
export const text = z.string().min(1)
const seconds = z
  .number()
  .min(0)
  .max(100 * 365 * 86_400)

const actionName = z.enum(actionNames)
const detailedAction = z.object({
  action: actionName,
  step: z.enum(requirementNames).optional(),
  reason: z.string().max(500).optional(),
})
const action = z.union([actionName.transform((name) => ({ action: name })), detailedAction], {
  error: `must be ${actionNames.join(', ')}, or an object with one of these as action`,
})
export const actionsBody = z.object({
  actions: z.array(action).min(1).max(100),
  force: z.boolean().optional(),
})

const { memberType, country, ...texts } = endpoints.createClient.body.shape
type Texts = typeof texts
const nullable = Object.fromEntries(
  Object.entries(texts).map(([name, field]) => [name, field.nullable()]),
) as { [Name in keyof Texts]: z.ZodNullable<Texts[Name]> }
/** The changes to a client; null clears a field. */
export const clientPatch = z
  .object({ ...nullable, memberType: memberType.unwrap(), country: z.nullable(country.unwrap()) })
  .partial()

/** A filter of a subscription: a name, a family, everything, or a legacy form of these. */
export const subscriptionFilters = [
  ...eventNames,
  ...families,
  ...legacyNames,
  legacyFamily,
  '*',
] as const

const filter: z.ZodType<string> = z.enum(subscriptionFilters)
const target = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !URL.parse(url)?.username, 'must not hold a user or password')
export const secret = z.string().min(8).max(256).regex(/^\S+$/, 'must not hold white space')

export const subscriptionBody = z.object({
  url: target,
  /** Names, families, `*`, or legacy forms of these; everything by default. */
  events: z.array(filter).min(1).default(['*']),
  /** `sandbox.secret` by default. */
  secret: secret.optional(),
  active: z.boolean().default(true),
  /** The organization whose events it receives; null for all of them. */
  organizationId: z.string().nullable().default(null),
})
export const subscriptionPatch = z
  .object({ url: target, events: z.array(filter).min(1), secret, active: z.boolean() })
  .partial()
export const rotateBody = z
  .object({ secret, /** How long the old secret signs beside it. */ overlapSeconds: seconds })
  .partial()
export const subscriptionOption = subscriptionBody
  .pick({ url: true, events: true, secret: true })
  .extend({ events: z.array(filter).min(1).optional() })
export const subscriptionSchema = z.object({
  id: text,
  url: target,
  events: z.array(filter),
  secret,
  active: z.boolean(),
  createdAt: dateTime,
  organizationId: z.string().nullable(),
})

/** A subscription to create; everything but `url` has a default. */
export type SubscriptionInput = DeepReadonly<z.input<typeof subscriptionBody>>
export type SubscriptionPatch = DeepReadonly<z.input<typeof subscriptionPatch>>
/** A new secret, and the seconds for which the old one signs beside it. */
export type RotateOptions = DeepReadonly<z.input<typeof rotateBody>>
/** A subscription that exists from the start. */
export type SubscriptionOption = DeepReadonly<z.input<typeof subscriptionOption>>

/** Sections 1 and 5: the three plans with API access, and one without. */
export const organizationPlans = ['Professional', 'Business', 'Enterprise', 'Starter'] as const

export const organizationPatch = z
  .object({
    plan: z.enum(organizationPlans),
    subscriptionActive: z.boolean(),
    ratePerMinute: z.int().min(0).nullable(),
  })
  .partial()

/** An expiry or a delay is added to this time, and its year must still have four digits. */
const latest = Date.parse('9000-01-01T00:00:00.000Z')

export function isSandboxTime(time: number): boolean {
  return time >= 0 && time <= latest
}

export const timeBoundsText = 'must be a time from 1970 to 9000'

export const sandboxTime = dateTime.check(
  z.refine((text) => isSandboxTime(Date.parse(text)), { error: timeBoundsText }),
)

export const seed = z.union([z.string(), z.number()])

export const clockBody = z.object({ now: z.optional(sandboxTime), frozen: z.boolean().optional() })
export const advanceBody = z
  .strictObject({ seconds: seconds.optional(), days: z.number().min(0).max(36_500).optional() })
  .refine((body) => body.seconds !== undefined || body.days !== undefined, {
    path: ['seconds'],
    message: 'give seconds or days',
  })

export const keySchema = z.object({
  id: text,
  organizationId: z.string(),
  key: text,
  active: z.boolean(),
  createdAt: dateTime,
})
export const keyBody = z.object({ organizationId: z.string() })
export const reveal = z.object({ reveal: z.enum(['true', 'false']).optional() })

export type Schema<Output = unknown> = z.ZodType<Output>

/** A schema for OpenAPI; it may be one of `zod/mini`. */
export type Documented = z.core.$ZodType

/** A route of the control plane; `handle` gets the id of the path, and checked input. */
export interface ControlRoute<Query = unknown, Body = unknown> {
  readonly query?: Schema<Query>
  readonly body?: Schema<Body>
  /** The maximum bytes of a body, if it differs from that of other routes. */
  readonly maxBytes?: number
  readonly status?: number
  handle(input: { readonly id: string; readonly query: Query; readonly body: Body }): unknown
}

export type ControlRoutes = Readonly<Record<string, ControlRoute>>

/** Types the input of a handler by the schemas beside it. */
export function route<Query, Body>(
  details: Omit<ControlRoute<Query, Body>, 'handle'>,
  handle: ControlRoute<Query, Body>['handle'],
): ControlRoute {
  return { ...details, handle } as ControlRoute
}
