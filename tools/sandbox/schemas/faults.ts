// The faults of the sandbox as schemas: what goes wrong on purpose, at which stage and how often.
import * as z from 'zod'
import { suggestion } from '../../../src/foundation/check.ts'
import { type Tampering, tamperings } from '../../../src/testing/tamperings.ts'
import { subscriptionFilters } from './control.ts'

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
  'thin',
] as const

/** The sandbox's scheme signs no time, so no signature of it can be stale. */
const sandboxTamperings = tamperings.filter(
  (name): name is Exclude<Tampering, 'stale'> => name !== 'stale',
)

/** Faults that change a single attempt; the next attempt may be whole again. */
export const attemptFaults = [...sandboxTamperings, 'slow-drip', 'connection-reset'] as const

const apiFaults = [
  'error-429',
  'error-500',
  'timeout',
  'malformed-json',
  /** The API of a vendor gives the record as it was before its last change. */
  'stale-record',
  'slow',
] as const

const chance = {
  /** The number of times that it is applied before it is spent. */
  times: z.int().min(1).optional(),
  /** A chance, by a die that the seed decides. */
  probability: z.number().min(0).max(1).optional(),
  /** The number of times that it was applied; shown, and ignored as input. */
  struck: z.int().min(0).optional(),
}
const seconds = z.number().min(0).max(31_536_000).optional()

const ofDeliveries = {
  ...chance,
  /** Applies only to deliveries of these events, under either name. */
  event: z.enum(subscriptionFilters).optional(),
  subscriptionId: z.string().min(1).optional(),
}

const plannedFault = z.strictObject({
  kind: z.enum(plannedFaults),
  ...ofDeliveries,
  /** Seconds of a delay, or the age of a stale replay. */
  seconds,
  /** The number of deliveries that a storm makes. */
  copies: z.int().min(1).max(10_000).optional(),
})

const attemptFault = z.strictObject({ kind: z.enum(attemptFaults), ...ofDeliveries })

const apiFault = z.strictObject({
  kind: z.enum(apiFaults),
  ...chance,
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
  /** Paths that begin so, from `/verifications` on; those of a vendor's API are whole. */
  path: z
    .string()
    .regex(/^\/(?!v2\/api)/, 'must begin as the paths of the service do, e.g. /verifications')
    .optional(),
  /** Seconds of a slow answer, or a 429's Retry-After. */
  seconds,
})

const faultKinds: readonly string[] = [...plannedFaults, ...attemptFaults, ...apiFaults]

/** Names the form of a fault, and the closest kind. */
function formOf({ input }: { readonly input?: unknown }): string {
  const kind = String(Object(input).kind ?? input)
  return `must be a kind of fault, as in { kind: 'duplicate' }.${suggestion(kind, faultKinds)} Known kinds: ${faultKinds.join(', ')}`
}

/** One fault; without `times` and `probability` it always strikes. */
export const faultSchema = z.discriminatedUnion('kind', [plannedFault, attemptFault, apiFault], {
  error: formOf,
})

export const faultsBody = z.object({ faults: z.array(faultSchema) })

export type Fault = z.infer<typeof faultSchema>
export type FaultKind = Fault['kind']
export type PlannedFault = z.infer<typeof plannedFault>
export type AttemptFault = z.infer<typeof attemptFault>
export type ApiFault = z.infer<typeof apiFault>

/** The faults of each stage at which one can strike. */
export interface FaultsByStage {
  readonly plan: PlannedFault
  readonly attempt: AttemptFault
  readonly api: ApiFault
}

const kinds: Readonly<Record<keyof FaultsByStage, ReadonlySet<FaultKind>>> = {
  plan: new Set(plannedFaults),
  attempt: new Set(attemptFaults),
  api: new Set(apiFaults),
}

export function isOfStage<Stage extends keyof FaultsByStage>(
  fault: Fault,
  stage: Stage,
): fault is FaultsByStage[Stage] {
  return kinds[stage].has(fault.kind)
}
