// Which deliveries an occurrence makes for a subscription, the planned faults among them. Bytes and
// ids are fixed here and never made again.
import { defined } from '../../../src/foundation/defined.ts'
import { canonicalName, type EventName, legacyNameOf } from '../../../src/protocol/names.ts'
import type { Vendor } from '../../../src/protocol/vendor.ts'
import { toBase64 } from '../../../src/signature/encoding.ts'
import { inDialect } from '../../../src/vendors/dialect.ts'
import type { FaultRules } from '../faults.ts'
import type { SeededRandom } from '../random.ts'
import type { DeliveryRow } from '../schemas/deliveries.ts'
import type { PlannedFault } from '../schemas/faults.ts'
import type { SubscriptionRow } from '../schemas/snapshot.ts'
import { namesFor } from './subscriptions.ts'

export interface ResourceEvent {
  readonly organizationId: string
  readonly name: EventName
  readonly data: Readonly<Record<string, unknown>> & { readonly id: string }
  readonly occurredAt: Date
}

export interface PlanContext {
  readonly now: Date
  readonly random: SeededRandom
  readonly faults: FaultRules
  /** One id for each name of an occurrence, shared by all subscriptions. */
  readonly eventId: (name: string) => string
  /** The reordered delivery of each subscription that waits for the next one to pass it. */
  readonly waiting: ReadonlyMap<string, string>
  readonly vendor: Vendor | undefined
}

/** Plans one delivery after the other: the next one depends on where the one before it waits. */
export function* planDeliveries(
  subscription: SubscriptionRow,
  occurrence: ResourceEvent,
  context: PlanContext,
): Generator<DeliveryRow> {
  for (const name of namesFor(subscription.events, occurrence.name)) {
    const fault = context.faults.forDelivery('plan', {
      subscriptionId: subscription.id,
      event: occurrence.name,
      die: `plan ${context.eventId(name)} ${subscription.id}`,
    })
    for (const variant of fault ? variants[fault.kind](name, fault) : [{ name }]) {
      const row = toRow(subscription, { occurrence, fault, ...variant }, context)
      if (row) yield row
    }
  }
}

interface Variant {
  readonly name: string
  /** Seconds before it is due. */
  readonly delay?: number
  readonly dropped?: true
  /** Signed at the time of the delivery that it repeats. */
  readonly recorded?: true
  /** Waits for the next one to go first. */
  readonly after?: true
  /** True for the vendor's thin form, if it has one. */
  readonly isThin?: boolean
  readonly padding?: number
}

/** The variants of one delivery that a planned fault creates. */
const variants: Readonly<
  Record<PlannedFault['kind'], (name: string, fault: PlannedFault) => Variant[]>
> = {
  duplicate: (name) => [{ name }, { name }],
  storm: (name, { copies = 100 }) => Array.from({ length: copies }, () => ({ name })),
  'stale-replay': (name, { seconds = 86_400 }) => [
    { name },
    { name, delay: seconds, recorded: true },
  ],
  delay: (name, { seconds = 60 }) => [{ name, delay: seconds }],
  drop: (name) => [{ name, dropped: true }],
  reorder: (name, { seconds = 30 }) => [{ name, after: true, delay: seconds }],
  // Above every receiver's default limit of 1 MiB.
  oversized: (name) => [{ name, padding: 2 * 1024 ** 2 }],
  'unknown-event': () => [{ name: 'verification.unheard_of' }],
  'legacy-name': (name) => [{ name: legacyOf(name) }],
  overlap: (name) =>
    [...new Set([canonicalName(name), legacyOf(name)])].map((one, at) => {
      return { name: one, isThin: at === 1 }
    }),
  thin: (name) => [{ name, isThin: true }],
}

/** The legacy name; the name itself for an event that has none. */
const legacyOf = (name: string) => legacyNameOf(canonicalName(name)) ?? name

interface PlannedVariant extends Variant {
  readonly occurrence: ResourceEvent
  readonly fault: PlannedFault | undefined
}

/** A row, and when it is due: `reorder` swaps two deliveries, the second is sent first. */
function toRow(
  subscription: SubscriptionRow,
  { occurrence, fault, padding = 0, delay = 0, ...variant }: PlannedVariant,
  { now, random, vendor, ...context }: PlanContext,
): DeliveryRow | undefined {
  const { occurredAt, data } = occurrence
  // A vendor knows no legacy names.
  const name = vendor ? canonicalName(variant.name) : variant.name
  const eventId = context.eventId(name)
  const envelope = vendor
    ? inDialect(vendor, { name, id: eventId, occurredAt, data }, variant.isThin)
    : { id: eventId, event: name, createdAt: occurredAt.toISOString(), data }
  // A vendor that has no such event sends nothing.
  if (!envelope) return undefined
  const content = padding > 0 ? { ...envelope, padding: ' '.repeat(padding) } : envelope
  const { dropped, recorded } = variant
  const waiting = context.waiting.get(subscription.id)
  const isFirst = variant.after && waiting === undefined
  const seconds = variant.after && !isFirst ? 0 : delay
  const state = subscription.active ? 'pending' : 'held'
  const status: DeliveryRow['status'] = dropped ? 'dropped' : state
  return defined({
    id: random.uuid(),
    subscriptionId: subscription.id,
    eventId,
    event: name,
    canonicalEvent: occurrence.name,
    resourceId: data.id,
    body: toBase64(new TextEncoder().encode(JSON.stringify(content))),
    createdAt: now.toISOString(),
    attempts: [],
    fault: fault?.kind,
    recorded,
    status,
    nextAttemptAt: dropped ? null : new Date(now.getTime() + seconds * 1000).toISOString(),
    after: isFirst || undefined,
    passes: seconds > 0 || dropped ? undefined : waiting,
  })
}
