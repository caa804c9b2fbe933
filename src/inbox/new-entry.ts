// Turns an arrival into a store's entry: hashes of ids, encrypted content, keys for duplicates.

import { isLegacyName, legacyNameOf } from '../protocol/names.ts'
import { packContent } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { Arrival } from './entry.ts'
import { type Fingerprints, hashOf } from './fingerprint.ts'
import type { Alias, NewEntry } from './work-store.ts'

export interface EntryDeps {
  readonly id: string
  readonly storedAt: number
  readonly fingerprints: Fingerprints
  readonly encryption: Encryption
  /** True if deliveries without an id are deduplicated by their bytes. */
  readonly dedupeBodies: boolean
}

export function toNewEntry(arrival: Arrival, deps: EntryDeps): NewEntry {
  const { delivery, source, name, receivedName, entity, related, occurredAt, lasting } = arrival
  const { id, storedAt, encryption } = deps
  const { tenant } = delivery
  const fingerprints = tenant === undefined ? deps.fingerprints : deps.fingerprints.within(tenant)
  // An event without an entity waits for no other.
  const own = tenant === undefined ? id : `${id}.${fingerprints.tenant(tenant)}`
  const key = keyOf(arrival, fingerprints, deps.dedupeBodies)
  const aliases = aliasesOf(arrival, fingerprints)
  return {
    id,
    lane: entity?.id ? fingerprints.of('lane', entity.type, entity.id) : own,
    digest: fingerprints.digest(lasting ?? delivery.body),
    ...(key !== undefined && { key }),
    ...(aliases.length > 0 && { aliases }),
    ...(related && { related: fingerprints.of('lane', related.type, related.id) }),
    ...(name !== undefined && { name }),
    ...(receivedName !== undefined && { receivedName }),
    source,
    ...(occurredAt && { occurredAt: occurredAt.getTime() }),
    storedAt,
    bytes: delivery.body.length,
    ...packContent(id, arrival, encryption),
  }
}

/** A recurring event gets another key: its own key belongs to the event that reconcile fed. */
function keyOf(arrival: Arrival, fingerprints: Fingerprints, dedupeBodies: boolean) {
  const { key, dedupe, delivery, lasting, recurs } = arrival
  if (key !== undefined) return fingerprints.of(recurs ? 'recurred' : 'id', key)
  if (!dedupeBodies && !dedupe) return undefined
  return fingerprints.of(recurs ? 'recurred' : 'body', hashOf(lasting ?? delivery.body))
}

/**
 * Further keys of an event. While old and new subscriptions overlap, an occurrence arrives under
 * two names and two ids, with the same time. A webhook and reconcile report one occurrence under
 * two ids too.
 */
function aliasesOf(arrival: Arrival, fingerprints: Fingerprints): readonly Alias[] {
  const { name, receivedName, entity, occurrence, source, recurs, occurredAt, updatedAt } = arrival
  const aliases: Alias[] = []
  // Two names of a vendor may map to one of our names, and are two events.
  const isOurs = receivedName === name || isLegacyName(receivedName ?? '')
  if (name && receivedName && isOurs && entity?.id && legacyNameOf(name)) {
    for (const [kind, time] of [['alias', occurredAt] as const, ['updated', updatedAt] as const]) {
      if (!time) continue
      const key = fingerprints.of(kind, name, entity.type, entity.id, time.toISOString())
      aliases.push({ key, name: receivedName })
    }
  }
  if (occurrence !== undefined && !recurs) {
    const key = fingerprints.of('occurrence', occurrence)
    aliases.push({ key, name: source === 'reconcile' ? source : 'webhook' })
  }
  return aliases
}
