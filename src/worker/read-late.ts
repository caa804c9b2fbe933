// An entry that arrived while nobody could read it has no lane and no aliases, and often no key; one
// whose name was not yet translated has those of another event. Once it can be read it gets its own.
import { toArrival } from '../arrival.ts'
import type { Arrival } from '../inbox/entry.ts'
import type { Work } from '../inbox/work.ts'
import type { Parsed } from '../parse.ts'
import type { Pipeline } from '../pipeline.ts'
import { isEventName } from '../protocol/names.ts'

/** The arrival as it is read by now, where that makes another entry of it. */
export function readLate(
  { delivery, source, name }: Work,
  read: Parsed | undefined,
  { peek, vendor }: Pick<Pipeline, 'peek' | 'vendor'>,
): Arrival | undefined {
  // Who replays one means it as it is.
  if (!delivery || source === 'replay') return undefined
  if (name !== undefined && (isEventName(name) || (read?.ok && read.event.name === name))) {
    return undefined
  }
  // As when it arrives: the data of a schema may lack what the sender has sent.
  const parsed = peek(delivery, source)
  if (!parsed.ok) return undefined
  // Never the other way round: while old and new processes work side by side they would take turns.
  if (name !== undefined && !isEventName(parsed.event.name)) return undefined
  return toArrival(delivery, parsed, { source, vendor })
}
