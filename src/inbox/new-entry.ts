// Turns an arrival into a store's entry: hashes of ids, encrypted content, keys for duplicates.

import { isLegacyName, legacyNameOf } from '../protocol/names.ts'
import { packContent } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { Arrival } from './entry.ts'
import { type Fingerprints, hashOf } from './fingerprint.ts'
import type { Alias, NewEntry } from './work-store.ts'

/** Dependencies for making entries. */
export interface EntryDeps {
  readonly id: string
  readonly storedAt: number
  readonly fingerprints: Fingerprints
  readonly encryption: Encryption
  /** Whether deliveries without an id are deduplicated by their bytes. */
  readonly dedupeBodies: boolean
}

export function toNewEntry(arrival: Arrival, deps: EntryDeps): NewEntry {
  const { delivery, source, name, receivedName, related, occurredAt, lasting } = arrival
  const { id, storedAt, encryption, dedupeBodies } = deps
  const fingerprints = deps.fingerprints.within(delivery.tenant)
  const key = keyOf(arrival, fingerprints, dedupeBodies)
  const aliases = aliasesOf(arrival, fingerprints)
  return {
    id,
    lane: laneOf(arrival, id, fingerprints),
    digest: fingerprints.digest(lasting ?? delivery.body),
    ...(key !== undefined && { key }),
    ...(aliases.length > 0 && { aliases }),
    ...(related && { related: fingerprints.lane(related) }),
    ...(name !== undefined && { name }),
    ...(receivedName !== undefined && { receivedName }),
    source,
    ...(occurredAt && { occurredAt: occurredAt.getTime() }),
    storedAt,
    bytes: delivery.body.length,
    ...packContent(id, arrival, encryption),
  }
}

/** An event without an entity waits for no other. */
function laneOf({ delivery, entity }: Arrival, id: string, fingerprints: Fingerprints): string {
  if (entity && entity.id !== '') return fingerprints.lane(entity)
  const { tenant } = delivery
  return tenant === undefined ? id : `${id}.${fingerprints.tenant(tenant)}`
}

function keyOf(arrival: Arrival, fingerprints: Fingerprints, dedupeBodies: boolean) {
  const { key, dedupe, delivery, lasting, recurs } = arrival
  // Its usual key belongs to the occurrence that reconcile fed.
  const keyed = (kind: 'id' | 'body', part: string) =>
    fingerprints.key(recurs ? 'recurred' : kind, part)
  if (key !== undefined) return keyed('id', key)
  if (!dedupeBodies && !dedupe) return undefined
  return keyed('body', hashOf(lasting ?? delivery.body))
}

/**
 * Further keys of an event. While old and new subscriptions overlap, an occurrence arrives under two
 * names and two ids, with the same time of the event or of its resource. A webhook and reconcile
 * report the same occurrence under two ids too.
 */
function aliasesOf(arrival: Arrival, fingerprints: Fingerprints): readonly Alias[] {
  const { name, receivedName, entity, occurrence, source, recurs } = arrival
  const aliases: Alias[] = []
  // Two names of a vendor may map to one of our names, and are two events.
  const isOurs = receivedName === name || isLegacyName(receivedName ?? '')
  if (name && receivedName && isOurs && entity?.id && legacyNameOf(name)) {
    const { occurredAt, updatedAt } = arrival
    const times = [['alias', occurredAt] as const, ['updated', updatedAt] as const]
    for (const [kind, time] of times) {
      const parts = time && [name, entity.type, entity.id, time.toISOString()]
      if (parts) aliases.push({ key: fingerprints.key(kind, ...parts), name: receivedName })
    }
  }
  if (occurrence !== undefined && !recurs) {
    const key = fingerprints.key('occurrence', occurrence)
    aliases.push({ key, name: source === 'reconcile' ? source : 'webhook' })
  }
  return aliases
}
