// Keyed hashes of ids: lanes and keys are compared, never read, and an id may be an e-mail address.
import { createHash, createHmac } from 'node:crypto'
import type { Entity } from '../protocol/events.ts'

/** Hashes what must be compared but need not be read. */
export interface Fingerprints {
  lane(entity: Entity): string
  key(kind: 'id' | 'body' | 'twin' | 'occurrence', ...parts: readonly string[]): string
}

/** `salt` stays the same as long as the store lives: keys are compared over years. */
export function createFingerprints(salt: Uint8Array): Fingerprints {
  const hash = (...parts: readonly string[]) =>
    // 128 bits: collisions by chance need 2^64 entries.
    createHmac('sha256', salt).update(JSON.stringify(parts)).digest('base64url').slice(0, 22)
  return {
    lane: ({ type, id }) => hash('lane', type, id),
    key: (kind, ...parts) => hash(kind, ...parts),
  }
}

/** Tells bytes apart. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}
