// Entries from before there was a key: noted where they are accepted, and counted where they no
// longer are, so that none is lost by an option that was removed too early.
import { WebhookError } from '../errors.ts'
import type { Encryption } from './encryption.ts'
import type { InboxStore } from './store.ts'

const name = 'unencrypted'
const some = Uint8Array.of(1)
const none = Uint8Array.of(0)
const pageSize = 500

/** The store may hold unencrypted entries beside encrypted ones. */
export async function noteUnencrypted(store: InboxStore): Promise<void> {
  await store.remember(name, some)
}

/** @throws WebhookError `STORE_UNSUITABLE` while entries wait that the encryption refuses */
export async function assertNoneUnencrypted(
  store: InboxStore,
  encryption: Encryption,
): Promise<void> {
  if (encryption.acceptsUnencrypted) return
  // It reads what waits only where plain entries were ever taken.
  if ((await store.recall(name, none))[0] !== some[0]) return
  const count = await countUnencrypted(store, encryption)
  if (count === 0) return store.remember(name, none)
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `${count} open ${count === 1 ? 'entry was' : 'entries were'} kept without encryption: set encryption.acceptUnencrypted to true until they are handled, then remove it`,
  )
}

async function countUnencrypted(store: InboxStore, encryption: Encryption): Promise<number> {
  let count = 0
  let after: string | undefined
  do {
    const states = ['stored', 'leased', 'retry'] as const
    const query = { states, oldestFirst: true, limit: pageSize, ...(after && { after }) }
    const page = await store.find(query)
    count += page.filter(({ metadata }) => metadata && encryption.isRefused(metadata)).length
    after = page.length === pageSize ? page.at(-1)?.id : undefined
  } while (after !== undefined)
  return count
}
