// What an inbox is handed for a verified delivery: the delivery, and what could be read of it.
import type { VerifiedDelivery } from './delivery.ts'
import type { Arrival } from './inbox/entry.ts'
import type { Parsed } from './parse.ts'
import type { EventSource } from './protocol/events.ts'
import { happensOnce } from './protocol/names.ts'

/** Bytes that nobody understood arrive without a name. */
export function toArrival(
  delivery: VerifiedDelivery,
  parsed: Parsed,
  source: EventSource,
): Arrival {
  if (!parsed.ok) {
    const key = delivery.signedId
    return { delivery, source, ...(key !== undefined && { key }) }
  }
  const { event, key } = parsed
  const occurrence = event.entity && occurrenceOf(event.name, event.entity)
  return {
    delivery,
    source,
    ...(key !== undefined && { key }),
    name: event.name,
    receivedName: event.receivedName,
    ...(event.entity && { entity: event.entity }),
    ...(event.occurredAt && { occurredAt: event.occurredAt }),
    ...(occurrence !== undefined && { occurrence }),
  }
}

/** The one occurrence of an event that a resource has once in its life; undefined for others. */
export function occurrenceOf(
  name: string,
  { type, id }: { readonly type: string; readonly id: string },
): string | undefined {
  return happensOnce(name) && id !== '' ? JSON.stringify([name, type, id]) : undefined
}
