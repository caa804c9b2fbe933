// Which deliveries an occurrence makes for a subscription, the planned faults among them. Bytes and
// ids are fixed here and never made again.

import { canonicalName, type EventName, legacyNameOf } from '../../protocol/names.ts'
import { toBase64 } from '../../signature/encoding.ts'
import type { PlannedFault, SandboxFaults } from '../faults.ts'
import type { SubscriptionRow } from '../ports.ts'
import { profile } from '../profile.ts'
import type { SandboxRandom } from '../random.ts'
import type { DeliveryRow } from '../schemas/deliveries.ts'
import type { DeliveryFault as Fault } from '../schemas/faults.ts'
import { namesFor } from './subscriptions.ts'

/** Something that happened, with its data as JSON text already. */
export interface PlannedOccurrence {
  readonly name: EventName
  readonly data: unknown
  readonly occurredAt: Date
}

export interface PlanParts {
  readonly now: Date
  readonly random: Pick<SandboxRandom, 'uuid'>
  readonly faults: Pick<SandboxFaults, 'forPlan'>
  readonly nextSeq: () => number
  /** One id for each name of an occurrence, whoever hears of it. */
  readonly eventId: (name: string) => string
  /** The reordered delivery of a subscription that waits for the next one to pass it. */
  readonly waiting: (subscriptionId: string) => string | undefined
  /** Called with each row, before the next is planned. */
  readonly planned: (row: DeliveryRow) => void
}

/** Bytes above every receiver's default limit of 1 MiB. */
const oversized = 2 * 1024 ** 2
const stormCopies = 100
const staleAfterSeconds = 86_400
/** A reordered delivery that nothing follows goes alone after this. */
const reorderedAfterSeconds = 30
const unknownEvent = 'verification.unheard_of'

export function planDeliveries(
  subscription: SubscriptionRow,
  occurrence: PlannedOccurrence,
  parts: PlanParts,
): DeliveryRow[] {
  return namesFor(subscription.events, occurrence.name).flatMap((name) => {
    const legacy = legacyNameOf(occurrence.name)
    const fault = parts.faults.forPlan({
      subscriptionId: subscription.id,
      event: occurrence.name,
      die: `plan ${parts.eventId(name)} ${subscription.id}`,
    })
    return variants(name, fault, legacy).map((variant) => {
      const row = toRow(subscription, { occurrence, fault, ...variant }, parts)
      parts.planned(row)
      return row
    })
  })
}

interface Variant {
  readonly name: string
  /** Seconds before it is due. */
  readonly delay?: number
  readonly dropped?: true
  /** Waits for the next one to go first. */
  readonly after?: true
  readonly padding?: number
}

/** What a planned fault makes of one delivery. */
function variants(name: string, fault: Fault | undefined, legacy: string | undefined): Variant[] {
  const plain = { name }
  switch (fault?.kind) {
    case 'duplicate':
      return [plain, plain]
    case 'storm':
      return Array.from({ length: fault.copies ?? stormCopies }, () => plain)
    case 'stale-replay':
      return [plain, { name, delay: fault.seconds ?? staleAfterSeconds }]
    case 'delay':
      return [{ name, delay: fault.seconds ?? 60 }]
    case 'drop':
      return [{ name, dropped: true }]
    case 'reorder':
      return [{ name, after: true, delay: fault.seconds ?? reorderedAfterSeconds }]
    case 'oversized':
      return [{ name, padding: oversized }]
    case 'unknown-event':
      return [{ name: unknownEvent }]
    case 'legacy-name':
      return [{ name: legacy ?? name }]
    case 'overlap':
      return legacy ? [{ name: canonicalName(name) }, { name: legacy }] : [plain]
    default:
      return [plain]
  }
}

interface RowFacts extends Variant {
  readonly occurrence: PlannedOccurrence
  readonly fault: Fault | undefined
}

function toRow(subscription: SubscriptionRow, facts: RowFacts, parts: PlanParts): DeliveryRow {
  const { occurrence, fault, name, padding = 0 } = facts
  // They swap in pairs: whoever is waited for goes at once, whatever its own fault says.
  const waiting = parts.waiting(subscription.id)
  const after = facts.after && waiting === undefined
  const delay = facts.after && !after ? 0 : (facts.delay ?? 0)
  const passes = delay === 0 && !facts.dropped ? waiting : undefined
  const eventId = parts.eventId(name)
  const envelope = profile.envelope({
    id: eventId,
    event: name,
    createdAt: occurrence.occurredAt.toISOString(),
    data: occurrence.data,
  })
  const filled = padding > 0 ? { ...envelope, padding: ' '.repeat(padding) } : envelope
  const due = new Date(parts.now.getTime() + delay * 1000).toISOString()
  const status = facts.dropped ? 'dropped' : subscription.active ? 'pending' : 'held'
  return {
    id: parts.random.uuid(),
    seq: parts.nextSeq(),
    subscriptionId: subscription.id,
    eventId,
    event: name,
    canonicalEvent: occurrence.name,
    resourceId: idOf(occurrence.data),
    body: toBase64(new TextEncoder().encode(JSON.stringify(filled))),
    createdAt: parts.now.toISOString(),
    status,
    nextAttemptAt: facts.dropped ? null : due,
    attempts: [],
    ...(fault && { fault: fault.kind as PlannedFault }),
    ...(after && { after }),
    ...(passes !== undefined && { passes }),
  }
}

/** What the event is about; deliveries of one thing go one after the other. */
function idOf(data: unknown): string {
  const { id } = (data ?? {}) as { readonly id?: unknown }
  return typeof id === 'string' ? id : ''
}
