// The sandbox's whole state as a schema: a snapshot and a data file are checked by it as a whole
// before any of it is loaded. The types of all rows are inferred from it.
import * as z from 'zod'
import { thirdPartySchema } from '../../../src/protocol/api-schemas.ts'
import { clientSchema, dateTime, verificationSchema } from '../../../src/protocol/resources.ts'
import {
  json,
  keySchema,
  organizationPlans,
  sandboxTime,
  secret,
  seed,
  subscriptionOption,
  subscriptionSchema,
  text,
} from './control.ts'
import { deliveryRowSchema } from './deliveries.ts'
import { faultSchema } from './faults.ts'

const count = z.int().min(0)

/** One entry of a verification's audit trail (section 2.2; its fields are the sandbox's). */
const trailEntry = z.object({
  at: dateTime,
  action: z.string(),
  actor: z.enum(['subject', 'operator', 'service', 'requestor']),
  /** The step that was submitted; null for what concerns the verification as a whole. */
  step: z.string().nullable(),
  /** The verification's status afterwards. */
  status: z.string(),
  reason: z.string().optional(),
})

const verification = z.object({
  resource: z.looseObject({ ...verificationSchema.shape, id: text }),
  /** Null until the subject has submitted. */
  score: z.number().min(0).max(100).nullable(),
  /** When each step was submitted. */
  completed: z.record(z.string(), dateTime),
  /** The subject's answers, by step and field. */
  given: z
    .record(z.string(), z.record(z.string(), z.union([z.string(), z.literal(true)])))
    .optional(),
  trail: z.array(trailEntry),
  config: json.optional(),
  thirdParties: z.array(thirdPartySchema).optional(),
})

const client = z.object({
  resource: z.looseObject({ ...clientSchema.shape, id: text }),
})

const mail = z.object({
  id: text,
  kind: z.enum(['invitation', 'shared_result']),
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  verificationId: z.string(),
  organizationId: z.string(),
  createdAt: dateTime,
  /** The subject-facing link of an invitation. */
  link: z.string().optional(),
  /** The data shared with a third party. */
  shared: json.optional(),
})

const organization = z.object({
  id: text,
  name: z.string(),
  requestorName: z.string(),
  requestorEmail: z.string(),
  plan: z.enum(organizationPlans),
  /** True if the organization's subscription is paid; otherwise the answer is 402. */
  subscriptionActive: z.boolean(),
  /** Requests per minute; null for what its plan gives. */
  ratePerMinute: count.nullable(),
})

const subscription = subscriptionSchema.extend({
  /** The secret before the last rotation, and until when it signs beside the new one. */
  previous: z.object({ secret, until: dateTime }).optional(),
})

/** The real time plus the offset must stay within the range of the clock. */
const offset = z.number().min(-1.7e12).max(2.1e14)

export const snapshotSchema = z.object({
  version: z.literal(2),
  seed,
  /** The secret of subscriptions without their own. */
  secret,
  clock: z.object({ now: sandboxTime, frozen: z.boolean(), offset }),
  random: count,
  faults: z.array(z.object({ fault: faultSchema, struck: count, seen: count })),
  state: z.object({
    /** Each organization's rate window: its start, and the requests in it. */
    rates: z.record(z.string(), z.tuple([z.number(), count])),
    verifications: z.array(verification),
    clients: z.array(client),
    outbox: z.array(mail),
    organizations: z.array(organization),
    keys: z.array(keySchema),
  }),
  webhooks: z.object({
    subscriptions: z.array(subscription),
    deliveries: z.array(deliveryRowSchema),
  }),
})

/** The options of the first start; a later start must not differ from them. */
const startOptions = z.object({
  seed,
  now: z.iso.datetime().optional(),
  secret: z.string().optional(),
  subscriptions: z.array(subscriptionOption).optional(),
})

export const savedStateSchema = z.object({ start: startOptions, snapshot: snapshotSchema })

/** The whole state as one JSON value, secrets included. */
export type Snapshot = z.infer<typeof snapshotSchema>
export type SavedState = z.infer<typeof savedStateSchema>
export type StartOptions = z.infer<typeof startOptions>
export type VerificationRow = z.infer<typeof verification>
export type TrailEntry = z.infer<typeof trailEntry>
export type ClientRow = z.infer<typeof client>
export type Mail = Readonly<z.infer<typeof mail>>
export type Organization = Readonly<z.infer<typeof organization>>
export type PlanName = Organization['plan']
export type ApiKey = Readonly<z.infer<typeof keySchema>>
export type SubscriptionRow = Readonly<z.infer<typeof subscription>>
