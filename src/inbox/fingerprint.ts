// Keyed hashes of ids: lanes and keys are only compared, and an id may be an e-mail address.
import { createHash } from 'node:crypto'
import { OneShotHmac } from '../signature/hmac/one-shot.ts'

type Kind = 'lane' | 'id' | 'body' | 'alias' | 'updated' | 'occurrence' | 'recurred'

/** Hashes what must be compared but need not be read. */
export class Fingerprints {
  readonly #hmac: OneShotHmac
  /** Ends every lane and key of a tenant, after a dot. */
  readonly #suffix: string

  /** The salt stays the same as long as the store lives: keys are compared over years. */
  constructor(salt: Uint8Array | OneShotHmac, suffix = '') {
    this.#hmac = salt instanceof OneShotHmac ? salt : new OneShotHmac(salt, 'sha256')
    this.#suffix = suffix
  }

  of(kind: Kind, ...parts: readonly string[]): string {
    return this.#hash(kind, parts) + this.#suffix
  }

  tenant(name: string): string {
    return this.#hash('tenant', [name])
  }

  /** The lanes and keys of one tenant (`<hash>.<tenant>`), or without a tenant (`<hash>`). */
  within(tenant: string): Fingerprints {
    return new Fingerprints(this.#hmac, `.${this.tenant(tenant)}`)
  }

  /** Distinguishes bytes. Keyed: a plain hash would confirm a guess of an erased payload. */
  digest(bytes: Uint8Array): string {
    return Buffer.from(this.#hmac.hex([bytes]), 'hex').toString('base64url')
  }

  /** 128 bits: collisions by chance need 2^64 entries. */
  #hash(kind: string, parts: readonly string[]): string {
    const text = Buffer.from(JSON.stringify([kind, ...parts]))
    return Buffer.from(this.#hmac.hex([text]), 'hex')
      .toString('base64url')
      .slice(0, 22)
  }
}

/** The hash of a body that serves as its id; it is keyed before it is stored. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}
