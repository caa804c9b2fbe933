// Entries from before there was a key: noted where they are taken, and counted where they no longer
// are, so that none is lost by an option that was taken out too early.
import { WebhookError } from '../errors.ts'
import type { Seal } from './encryption.ts'
import type { InboxStore } from './store.ts'

const name = 'plain'
const some = Uint8Array.of(1)
const none = Uint8Array.of(0)
const pageSize = 500

/** The store may hold plain entries beside sealed ones. */
export async function notePlain(store: InboxStore): Promise<void> {
  await store.remember(name, some)
}

/** @throws WebhookError `STORE_UNSUITABLE` while entries wait that the seal refuses */
export async function assertNoPlain(store: InboxStore, seal: Seal): Promise<void> {
  if (seal.takesPlain) return
  // It reads what waits only where plain entries were ever taken.
  if ((await store.recall(name, none))[0] !== some[0]) return
  const count = await countPlain(store, seal)
  if (count === 0) return store.remember(name, none)
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `${count} open ${count === 1 ? 'entry was' : 'entries were'} kept without encryption: set encryption.acceptPlain: true until they are handled, then take it out`,
  )
}

async function countPlain(store: InboxStore, seal: Seal): Promise<number> {
  let count = 0
  let after: string | undefined
  do {
    const states = ['stored', 'leased', 'retry'] as const
    const query = { states, oldestFirst: true, limit: pageSize, ...(after && { after }) }
    const page = await store.find(query)
    count += page.filter(({ metadata }) => metadata && seal.isRefusedPlain(metadata)).length
    after = page.length === pageSize ? page.at(-1)?.id : undefined
  } while (after !== undefined)
  return count
}
