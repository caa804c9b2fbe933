// The faults of the sandbox as schemas: what can go wrong on purpose, where and how often.
import * as z from 'zod'
import { subscriptionFilters } from './control-schemas.ts'

/** Faults that change which deliveries an occurrence makes. */
export const plannedFaults = [
  'duplicate',
  'reorder',
  'delay',
  'drop',
  'oversized',
  'legacy-name',
  'unknown-event',
  'stale-replay',
  'storm',
  'overlap',
] as const

/** Faults that change a single attempt; the next attempt may be whole again. */
export const attemptFaults = [
  'wrong-signature',
  'missing-signature',
  'tampered',
  'truncated',
  're-serialised',
  'slow-drip',
  'connection-reset',
] as const

/** Faults of the API. */
export const apiFaults = ['error-429', 'error-500', 'timeout', 'malformed-json', 'slow'] as const

const chance = {
  /** How often it strikes before it is spent. */
  times: z.int().min(1).optional(),
  /** By a die that the seed decides. */
  probability: z.number().min(0).max(1).optional(),
  /** How often it has struck; told, and ignored when given. */
  struck: z.int().min(0).optional(),
}
const seconds = z.number().min(0).max(31_536_000).optional()

const deliveryFault = z.strictObject({
  kind: z.enum([...plannedFaults, ...attemptFaults]),
  ...chance,
  /** Deliveries of these events alone, under either name. */
  event: z.enum(subscriptionFilters).optional(),
  subscriptionId: z.string().min(1).optional(),
  /** Of a delay or a stale replay. */
  seconds,
  /** How many deliveries a storm makes. */
  copies: z.int().min(1).max(10_000).optional(),
})

const apiFault = z.strictObject({
  kind: z.enum(apiFaults),
  ...chance,
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
  /** Paths that begin so, from `/verifications` on. */
  path: z
    .string()
    .regex(/^\/(?!v\d+\/)/, 'must begin as the paths of the service do, e.g. /verifications')
    .optional(),
  /** Of a slow answer, or of a 429's Retry-After. */
  seconds,
})

/** One fault; without `times` and `probability` it strikes always. */
export const faultSchema = z.discriminatedUnion('kind', [deliveryFault, apiFault])

/** The body of `PUT /faults`. */
export const faultsBody = z.object({ faults: z.array(faultSchema) })

export type Fault = z.infer<typeof faultSchema>
export type FaultKind = Fault['kind']
export type DeliveryFault = z.infer<typeof deliveryFault>
