// Schemas of deliveries and their attempts, as the sandbox stores them and as its control plane
// shows them. Bytes are base64.
import * as z from 'zod'
import { eventNames } from '../../../src/protocol/names.ts'
import { dateTime } from '../../../src/protocol/resources.ts'
import { attemptFaults, plannedFaults } from './faults.ts'

/** `held` while its subscription is paused, `dropped` by a fault or with its subscription. */
const deliveryStatuses = ['pending', 'delivered', 'failed', 'dropped', 'held'] as const

const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64')
const headers = z.record(z.string(), z.string())

/** One request and its result. */
export const attemptSchema = z.object({
  /** The time of the sandbox's clock. */
  at: dateTime,
  /** Measured in real time, whatever the sandbox's clock does; not kept in a snapshot. */
  durationMs: z.number().min(0).optional(),
  request: z.object({ method: z.literal('POST'), url: z.string(), headers, body: base64 }),
  response: z
    .object({
      status: z.int(),
      /** Pairs, because a name may occur more than once. */
      headers: z.array(z.tuple([z.string(), z.string()])),
      body: base64,
      /** Present if the answer's body was longer than its kept part. */
      truncated: z.literal(true).optional(),
    })
    .optional(),
  /** Why no answer came. */
  error: z.string().optional(),
  /** The fault that changed it. */
  fault: z.enum(attemptFaults).optional(),
})

const deliveryFields = {
  id: z.string().min(1),
  subscriptionId: z.string(),
  eventId: z.string(),
  /** The name under which it is delivered. */
  event: z.string(),
  canonicalEvent: z.enum(eventNames),
  /** The resource that it is about. */
  resourceId: z.string(),
  createdAt: dateTime,
  status: z.enum(deliveryStatuses),
  /** When the next attempt is due; null after the last one. */
  nextAttemptAt: z.nullable(dateTime),
  /** The fault that planned it so. */
  fault: z.enum(plannedFaults).optional(),
  /** A copy of an earlier delivery: it keeps the time and signature of that delivery. */
  recorded: z.literal(true).optional(),
  /** Waits until the next delivery to the same subscription was sent. */
  after: z.literal(true).optional(),
  /** The reordered delivery that waits for this one. */
  passes: z.string().optional(),
}

/** A delivery with every attempt's exact bytes. */
export const deliverySchema = z.object({
  ...deliveryFields,
  body: base64,
  attempts: z.array(attemptSchema),
})

/** A delivery as a list shows it: without bytes, and equal for equal seeds and calls. */
export const deliverySummarySchema = z.object({
  ...deliveryFields,
  attempts: z.array(
    attemptSchema
      .omit({ request: true, response: true, durationMs: true })
      .extend({ status: z.int().optional() }),
  ),
})

export const deliveryRowSchema = deliverySchema.extend({
  /** The headers of its signature; a later attempt has them again if they state no time. */
  signature: headers.optional(),
})

export const deliveryFilter = z.object({
  subscriptionId: z.string().optional(),
  event: z.string().optional(),
  status: z.enum(deliveryStatuses).optional(),
})

export type Attempt = Readonly<z.infer<typeof attemptSchema>>
export type SandboxDelivery = Readonly<z.infer<typeof deliverySchema>>
export type DeliverySummary = Readonly<z.infer<typeof deliverySummarySchema>>
export type DeliveryRow = Readonly<z.infer<typeof deliveryRowSchema>>
export type DeliveryFilter = Readonly<z.input<typeof deliveryFilter>>
