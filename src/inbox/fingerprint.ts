// Keyed hashes of ids: lanes and keys are only compared, and an id may be an e-mail address.
import { createHash, createHmac } from 'node:crypto'
import type { Entity } from '../protocol/events.ts'

/** Hashes what must be compared but need not be read. */
export interface Fingerprints {
  lane(entity: Entity): string
  key(
    kind: 'id' | 'body' | 'alias' | 'updated' | 'occurrence' | 'recurred',
    ...parts: readonly string[]
  ): string
  /** The suffix, after a dot, of every lane and key of a tenant. */
  tenant(name: string): string
  /** The lanes and keys of one tenant (`<hash>.<tenant>`), or without a tenant (`<hash>`). */
  within(tenant: string | undefined): Fingerprints
  /** Tells bytes apart. */
  digest(bytes: Uint8Array): string
}

/** `salt` stays the same as long as the store lives: keys are compared over years. */
export function createFingerprints(salt: Uint8Array): Fingerprints {
  const hash = (...parts: readonly string[]) =>
    // 128 bits: collisions by chance need 2^64 entries.
    createHmac('sha256', salt).update(JSON.stringify(parts)).digest('base64url').slice(0, 22)
  const make = (suffix: string): Fingerprints => ({
    lane: ({ type, id }) => hash('lane', type, id) + suffix,
    key: (kind, ...parts) => hash(kind, ...parts) + suffix,
    tenant: (name) => hash('tenant', name),
    within: (tenant) => make(tenant === undefined ? '' : `.${hash('tenant', tenant)}`),
    // Keyed too: else a guess of an erased payload could be confirmed.
    digest: (bytes) => createHmac('sha256', salt).update(bytes).digest('base64url'),
  })
  return make('')
}

/** The hash of a body that serves as its id; it is keyed before it is stored. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}
