// An entry that arrived while nobody could read it has no lane and no aliases, and often no key; one
// whose name was not yet translated has those of another entity. Once it can be read it gets its own.
import { toArrival } from '../arrival.ts'
import type { Arrival } from '../inbox/entry.ts'
import type { Work } from '../inbox/work.ts'
import type { Parsed } from '../parse.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { isEventName } from '../protocol/names.ts'

/** The arrival as it is read by now, where that makes another entry of it. */
export function readLate(
  work: Work,
  parsed: Extract<Parsed, { ok: true }>,
  vendor: string | undefined,
): Arrival | undefined {
  const { delivery, source, handled } = work
  // Who replays one means it as it is, and what has begun ends where it is.
  if (!delivery || source === 'replay' || handled.length > 0) return undefined
  if (work.name !== undefined && !isTranslatedNow(work, parsed.event)) return undefined
  return toArrival(delivery, parsed, { source, vendor })
}

/**
 * Whether the event was kept under a name of the sender's own and as that of another entity. Never the
 * other way round: while old and new processes work side by side they would take turns for ever.
 */
function isTranslatedNow({ name = '', entity, failed }: Work, event: WebhookEvent): boolean {
  if (isEventName(name) || !isEventName(event.name) || failed.length > 0) return false
  return entity?.type !== event.entity?.type || entity?.id !== event.entity?.id
}
