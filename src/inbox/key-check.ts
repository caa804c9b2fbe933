// The salt of an inbox: stored encrypted, so that reading it also proves that the key is right.
import { randomBytes } from 'node:crypto'
import { WebhookError } from '../errors.ts'
import type { Encryption } from './encryption.ts'
import { assertNotMoved } from './move.ts'
import type { InboxStore } from './store.ts'
import { noteUnencrypted } from './unencrypted-entries.ts'

/**
 * The salt that the store was begun with; stored again when the key has changed.
 *
 * @throws WebhookError `STORE_SEALED` when no key decrypts it, `STORE_UNSUITABLE` when it was stored
 * without a key or the inbox was moved; the store is closed then, as after any other failure
 */
export async function recallSalt(store: InboxStore, encryption: Encryption): Promise<Uint8Array> {
  return saltOf(store, encryption).catch(async (error: unknown) => {
    // The next delivery opens it again, and one opening would be left without an end.
    await store.close().catch(() => {})
    throw error
  })
}

async function saltOf(store: InboxStore, encryption: Encryption): Promise<Uint8Array> {
  await assertNotMoved(store)
  const kept = await store.recall('salt', encryption.encrypt(randomBytes(32), 'salt'))
  const salt = encryption.decrypt(kept, 'salt')
  if (!salt) {
    if (encryption.isRefused(kept)) {
      throw new WebhookError(
        'STORE_UNSUITABLE',
        'the inbox was kept without encryption: set encryption.acceptUnencrypted to true until its entries are handled, then remove it',
      )
    }
    throw new WebhookError(
      'STORE_SEALED',
      encryption.hasKey
        ? 'the inbox was encrypted with another key: pass that key in encryption.previous'
        : 'the inbox is encrypted, and no key was passed: pass encryption: { key } with the key of this inbox, and check the variable that holds it',
    )
  }
  // Before the salt: once that is encrypted, nothing else shows that there were any.
  if (encryption.acceptsUnencrypted) await noteUnencrypted(store)
  if (!encryption.isCurrent(kept)) await store.remember('salt', encryption.encrypt(salt, 'salt'))
  return salt
}
