// The sandbox's whole state as a schema: a snapshot is checked by it, whole, before anything of it
// is taken, and so is each row of a data file.
import * as z from 'zod'
import {
  clientSchema,
  dateTime,
  thirdPartySchema,
  verificationSchema,
} from '../../protocol/resources.ts'
import {
  json,
  organizationPlans,
  sandboxTime,
  secret,
  seed,
  subscriptionFilters,
  target,
} from './control-schemas.ts'
import { deliveryRowSchema } from './deliveries.ts'
import { faultSchema } from './faults.ts'

const text = z.string().min(1)
const count = z.int().min(0)

const trailEntry = z.object({
  at: dateTime,
  action: z.string(),
  actor: z.enum(['subject', 'operator', 'service', 'requestor']),
  step: z.string().nullable(),
  status: z.string(),
  reason: z.string().optional(),
})

const verification = z.object({
  seq: count,
  resource: verificationSchema.extend({ id: text }),
  score: z.number().min(0).max(100).nullable(),
  completed: z.record(z.string(), dateTime),
  trail: z.array(trailEntry),
  config: json.optional(),
  thirdParties: z.array(thirdPartySchema).optional(),
})

const client = z.object({ seq: count, resource: clientSchema.extend({ id: text }) })

const mail = z.object({
  id: text,
  kind: z.enum(['invitation', 'shared_result']),
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  verificationId: z.string(),
  organizationId: z.string(),
  createdAt: dateTime,
  link: z.string().optional(),
  shared: json.optional(),
  transport: z.enum(['none', 'pending', 'sent', 'failed']),
  error: z.string().optional(),
})

const organization = z.object({
  id: text,
  name: z.string(),
  requestorName: z.string(),
  requestorEmail: z.string(),
  plan: z.enum(organizationPlans),
  subscriptionActive: z.boolean(),
  ratePerMinute: count.nullable(),
})

const key = z.object({
  id: text,
  organizationId: z.string(),
  key: text,
  active: z.boolean(),
  createdAt: dateTime,
})

const subscription = z.object({
  id: text,
  url: target,
  events: z.array(z.enum(subscriptionFilters)),
  secret,
  active: z.boolean(),
  createdAt: dateTime,
  organizationId: z.string().nullable(),
  previous: z.object({ secret, until: dateTime }).optional(),
})

/** Real time and the offset together must stay within what the clock may show. */
const offset = z.number().min(-1.7e12).max(2.1e14)
const word = z
  .number()
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1)

const parts = {
  version: z.literal(1),
  seed,
  secret,
  clock: z.object({ now: sandboxTime, frozen: z.boolean(), offset }),
  random: z.tuple([word, word, word, word]),
  faults: z.array(z.object({ fault: faultSchema, struck: count, seen: count })),
}
const rates = z.record(z.string(), z.tuple([z.number(), count]))
const access = { organizations: several(organization), keys: several(key) }

/** A snapshot. */
export const snapshotSchema = z.object({
  ...parts,
  world: z.object({
    seq: count,
    rates,
    verifications: several(verification),
    clients: several(client),
    outbox: several(mail),
    ...access,
  }),
  engine: z.object({
    subscriptions: several(subscription),
    deliveries: several(deliveryRowSchema),
  }),
})

/** What the options of the last start said; a later start is compared with it. */
const told = z.object({
  now: z.string().optional(),
  secret: z.string().optional(),
  subscriptions: z.array(
    z.object({
      url: z.string(),
      events: z.array(z.string()).optional(),
      secret: z.string().optional(),
    }),
  ),
})

/** The row of a data file that holds what is no record of its own. */
export const stateRowSchema = z.object({ ...parts, seq: count, rates, told })

/** The rows of a data file, by their kind. */
export const rowSchemas = {
  state: stateRowSchema,
  organizations: z.object(access),
  verification,
  client,
  mail,
  subscription,
  delivery: deliveryRowSchema,
} as const

/** A list in which no id comes twice. */
function several<Item extends z.ZodType<Identified>>(item: Item) {
  return z.array(item).check(({ value, issues }) => {
    const seen = new Set<string>()
    for (const [at, one] of value.entries()) {
      const id = 'resource' in one ? one.resource.id : one.id
      if (!seen.has(id)) seen.add(id)
      else
        issues.push({ code: 'custom', input: one, path: [at], message: `has the id ${id} again` })
    }
  })
}

type Identified = { readonly id: string } | { readonly resource: { readonly id: string } }

export type StateRow = z.infer<typeof stateRowSchema>
export type Told = z.infer<typeof told>
export type RowKind = keyof typeof rowSchemas
