// The bodies, queries and answers of the sandbox's control plane, as schemas, and the form of its
// routes. None of this is part of the service's own document.
import * as z from 'zod'
import { eventNames, families, legacyFamily, legacyNames } from '../../../src/protocol/names.ts'
import { countryCode, dateTime, emailAddress, limits } from '../../../src/protocol/resources.ts'
import { memberTypes, requirementNames } from '../../../src/protocol/values.ts'

export const json = z.record(z.string(), z.unknown())
export const id = z.object({ id: z.string().min(1) })
const seconds = z
  .number()
  .min(0)
  .max(100 * 365 * 86_400)

const actionNames = ['start', 'submit', 'review', 'approve', 'reject', 'cancel', 'expire'] as const
const actionName = z.enum(actionNames)
export const actionsBody = z.object({
  actions: z
    .array(
      z.union(
        [
          actionName,
          z.object({
            action: actionName,
            step: z.enum(requirementNames).optional(),
            reason: z.string().max(500).optional(),
          }),
        ],
        {
          error: `must be ${actionNames.join(', ')}, or an object with one of these as action`,
        },
      ),
    )
    .min(1)
    .max(100),
  force: z.boolean().optional(),
})

export const clientPatch = z
  .object({
    nameFirst: z.string().max(limits.clientShort).nullable(),
    nameLast: z.string().max(limits.clientShort).nullable(),
    businessName: z.string().max(limits.clientLong).nullable(),
    email: emailAddress.max(limits.clientEmail).nullable(),
    phone: z.string().max(limits.clientPhone).nullable(),
    externalId: z.string().max(limits.clientShort).nullable(),
    memberType: z.enum(memberTypes),
    addressLine1: z.string().max(limits.clientLong).nullable(),
    addressLine2: z.string().max(limits.clientLong).nullable(),
    city: z.string().max(limits.clientShort).nullable(),
    region: z.string().max(limits.clientShort).nullable(),
    postalCode: z.string().max(limits.clientPostalCode).nullable(),
    country: countryCode.nullable(),
    metadata: json.nullable(),
  })
  .partial()

/** A filter of a subscription: a name, a family, everything, or a legacy form of these. */
export const subscriptionFilters = [
  ...eventNames,
  ...families,
  ...legacyNames,
  legacyFamily,
  '*',
] as const

const filter = z.enum(subscriptionFilters)
export const target = z.url({ protocol: /^https?$/ })
export const secret = z.string().min(8).max(256).regex(/^\S+$/, 'must not hold white space')

export const subscriptionBody = z.object({
  url: target,
  events: z.array(filter).min(1).default(['*']),
  secret: secret.optional(),
  active: z.boolean().default(true),
  organizationId: z.string().nullable().default(null),
})
export const subscriptionPatch = z
  .object({ url: target, events: z.array(filter).min(1), secret, active: z.boolean() })
  .partial()
export const rotateBody = z.object({
  secret: secret.optional(),
  overlapSeconds: seconds.optional(),
})
export const subscriptionSchema = z.looseObject({
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  secret: z.string(),
  active: z.boolean(),
  createdAt: dateTime,
})

/** Sections 1 and 5: the three plans with API access, and one without. */
export const organizationPlans = ['Professional', 'Business', 'Enterprise', 'Starter'] as const

export const organizationPatch = z
  .object({
    plan: z.enum(organizationPlans),
    subscriptionActive: z.boolean(),
    ratePerMinute: z.int().min(0).nullable(),
  })
  .partial()

/** With a margin, so that an expiry or a delay later still has a year of four digits. */
const latest = Date.parse('9000-01-01T00:00:00.000Z')

/** Whether the sandbox's clock may show a time. */
export function isSandboxTime(time: number): boolean {
  return time >= 0 && time <= latest
}

export const timeBoundsText = 'must be a time from 1970 to 9000'

/** A time that the sandbox's clock may show. */
export const sandboxTime = dateTime.refine((text) => isSandboxTime(Date.parse(text)), {
  error: timeBoundsText,
})

/** The seed of ids, tokens and random choices. */
export const seed = z.union([z.string(), z.number()])

export const clockBody = z.object({ now: sandboxTime.optional(), frozen: z.boolean().optional() })
export const clockSchema = z.object({ now: dateTime, frozen: z.boolean() })
export const advanceBody = z
  .strictObject({ seconds: seconds.optional(), days: z.number().min(0).max(36_500).optional() })
  .refine((body) => body.seconds !== undefined || body.days !== undefined, {
    path: ['seconds'],
    message: 'give seconds or days',
  })

export const keySchema = z.looseObject({
  id: z.string(),
  organizationId: z.string(),
  key: z.string(),
  active: z.boolean(),
})
export const keyBody = z.object({ organizationId: z.string() })
export const resentSchema = z.object({ resent: z.int() })
export const list = <Item extends z.ZodType>(item: Item) => z.looseObject({ data: z.array(item) })
export const reveal = z.object({ reveal: z.enum(['true', 'false']).optional() })

/** A route of the control plane. */
export interface ControlRoute<Params = unknown, Query = unknown, Body = unknown> {
  readonly summary: string
  readonly params?: z.ZodType<Params>
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  readonly bodyOptional?: true
  /** The largest body, if it may have more bytes than others. */
  readonly maxBytes?: number
  /** 200 by default. */
  readonly status?: number
  readonly response: z.ZodType
  /** Called with checked input. */
  handle(input: { readonly params: Params; readonly query: Query; readonly body: Body }): unknown
}

/** Routes by method and path, e.g. `GET /clock`. */
export type ControlRoutes = Readonly<Record<string, ControlRoute>>

/** Types the input of a handler by the schemas beside it. */
export function route<Params, Query, Body>(
  summary: string,
  details: Omit<ControlRoute<Params, Query, Body>, 'summary'>,
): ControlRoute {
  return { summary, ...details } as ControlRoute
}
