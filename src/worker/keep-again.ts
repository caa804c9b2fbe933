// An entry that arrived while nobody could read it has no lane and no aliases, and often no key: once
// it can be read it is kept again, as if it came now.
import { toArrival } from '../arrival.ts'
import type { Arrival, Kept } from '../inbox/entry.ts'
import type { Work } from '../inbox/work.ts'
import type { Parsed } from '../parse.ts'

interface By {
  readonly vendor: string | undefined
  readonly keeper: { keep(arrival: Arrival): Promise<Kept> } | undefined
}

/**
 * Keeps it under what it says, behind what its lane holds by now; true where another entry stands for
 * it from then on. A crash before it is settled keeps it once more: then its key tells.
 */
export async function keptAgain(
  { delivery, name, source, lease }: Work,
  parsed: Extract<Parsed, { ok: true }>,
  { keeper, vendor }: By,
): Promise<boolean> {
  // Who replays one means this one.
  if (!keeper || !delivery || name !== undefined || source === 'replay') return false
  const arrival = toArrival(delivery, parsed, { source, vendor })
  const isAnother = async (one: Arrival) => (await keeper.keep(one)).entryId !== lease.id
  if (await isAnother(arrival)) return true
  // It holds the key already, which its scheme signs.
  const { key: _, ...keyless } = arrival
  return isAnother(keyless)
}
