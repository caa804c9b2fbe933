// An inbox in memory that keeps what the contract says of keys and occurrences, and a worker that
// runs every entry once through the receiver's corridor.
import type { Receiver } from 'idv-webhooks'
import type { Corridor } from '../../src/corridor.ts'
import type { Arrival, Kept } from '../../src/inbox/entry.ts'
import type { Entity } from '../../src/protocol/index.ts'

export function smallInbox() {
  const entries: (Arrival & { readonly entryId: string })[] = []
  const byKey = new Map<string, string>()
  const byOccurrence = new Map<string, { readonly entryId: string; readonly fed: boolean }>()
  const names = new Set<string>()
  let worked = 0

  const keep = async (arrival: Arrival): Promise<Kept> => {
    const { key, occurrence, source, name, entity } = arrival
    const fed = source === 'reconcile'
    const same = occurrence === undefined ? undefined : byOccurrence.get(occurrence)
    const known =
      (key !== undefined && byKey.get(key)) || (same && same.fed !== fed && same.entryId)
    if (known) return { kind: 'duplicate', entryId: known }
    const entryId = `entry_${entries.length + 1}`
    entries.push({ ...arrival, entryId })
    if (key !== undefined) byKey.set(key, entryId)
    if (occurrence !== undefined && !same) byOccurrence.set(occurrence, { entryId, fed })
    if (name && entity) names.add(JSON.stringify([name, entity.type, entity.id]))
    return { kind: 'accepted', entryId }
  }

  return {
    entries,
    keep,
    async find({ name, entity }: { name: string; entity: Entity }) {
      const found = names.has(JSON.stringify([name, entity.type, entity.id]))
      return { entries: found ? [{}] : [] }
    },
    /** Handles what has not been handled yet. */
    async work(receiver: Receiver): Promise<void> {
      const corridor = receiver as unknown as Corridor
      for (; worked < entries.length; worked++) {
        const { delivery, source, key } = entries[worked] as Arrival
        const parsed = corridor.parser(delivery, source)
        if (!parsed.ok) throw new Error(parsed.code)
        const registrations = corridor.dispatcher.match(parsed.event)
        const task = { event: parsed.event, key, delivery, registrations, attempt: 1 }
        for (const report of await corridor.run(task)) if (!report.ok) throw report.error
      }
    },
  }
}
