// An entry that arrived while nobody could read it has no lane and no aliases, and often no key; one
// whose name was not yet translated has those of another entity. Once it can be read it is kept again,
// as if it came now.
import { toArrival } from '../arrival.ts'
import type { Arrival, Kept } from '../inbox/entry.ts'
import type { Work } from '../inbox/work.ts'
import type { Parsed } from '../parse.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { isEventName } from '../protocol/names.ts'

interface By {
  readonly vendor: string | undefined
  readonly keeper: { keep(arrival: Arrival): Promise<Kept> } | undefined
}

/**
 * Keeps it under what it says, behind what its lane holds by now: `replaced` where another entry stands
 * for it from then on, the same one however often this is repeated after a crash. `conflict` where
 * another event has its key, with other bytes.
 */
export async function keptAgain(
  work: Work,
  parsed: Extract<Parsed, { ok: true }>,
  { keeper, vendor }: By,
): Promise<'replaced' | 'conflict' | undefined> {
  const { delivery, source, lease, handled } = work
  // Who replays one means this one, and what has begun ends where it is.
  if (!keeper || !delivery || source === 'replay' || handled.length > 0) return undefined
  if (work.name !== undefined && !isTranslatedNow(work, parsed.event)) return undefined
  const arrival = toArrival(delivery, parsed, { source, vendor })
  const of = lease.id
  let kept = await keeper.keep({ ...arrival, again: { of, isKeyHeld: false } })
  // It may hold the key already, which its scheme signs or its bytes are.
  if (kept.entryId === of) kept = await keeper.keep({ ...arrival, again: { of, isKeyHeld: true } })
  return kept.kind === 'duplicate' && kept.conflict ? 'conflict' : 'replaced'
}

/**
 * Whether the event was kept under a name of the sender's own and as that of another entity. Never the
 * other way round: while old and new processes work side by side they would take turns for ever.
 */
function isTranslatedNow({ name = '', entity, failed }: Work, event: WebhookEvent): boolean {
  if (isEventName(name) || !isEventName(event.name) || failed.length > 0) return false
  return entity?.type !== event.entity?.type || entity?.id !== event.entity?.id
}
