// The salt of an inbox: kept in its store under its seal, and the proof that the key is the right one.
import { randomBytes } from 'node:crypto'
import { WebhookError } from '../errors.ts'
import type { Seal } from './encryption.ts'
import type { InboxStore } from './store.ts'
import { notePlain } from './unencrypted-entries.ts'

/**
 * The salt that the store was begun with; sealed anew when the key has changed.
 *
 * @throws WebhookError `STORE_UNSUITABLE` when no key opens it; the store is closed then
 */
export async function recallSalt(store: InboxStore, seal: Seal): Promise<Uint8Array> {
  const kept = await store.recall('salt', seal.seal(randomBytes(32), 'salt'))
  const salt = seal.open(kept, 'salt')
  if (!salt) {
    await store.close()
    throw new WebhookError(
      seal.isRefusedPlain(kept) ? 'STORE_UNSUITABLE' : 'STORE_SEALED',
      seal.isRefusedPlain(kept)
        ? 'the inbox was kept without encryption: set encryption.acceptPlain: true for as long as its entries last, then take it out'
        : 'the inbox was sealed with another key: give that one in encryption.previous',
    )
  }
  // Before the salt: once that is sealed nothing else tells that there were any.
  if (seal.takesPlain) await notePlain(store)
  if (!seal.isCurrent(kept)) await store.remember('salt', seal.seal(salt, 'salt'))
  return salt
}
