// The time before which keys were ever purged: a retention that was raised since brings none back.
import { assertNotMoved } from './move.ts'
import type { InboxStore } from './store.ts'

/** The setting that operators store too. */
export const keysPurgedSetting = 'keys-purged'

/** Called before keys from before that time go. */
export async function noteKeysPurged(store: InboxStore, before: number): Promise<void> {
  // Its settings were counted with the rest.
  await assertNotMoved(store)
  if (before <= ((await keysPurged(store)) ?? Number.NEGATIVE_INFINITY)) return
  await store.remember(keysPurgedSetting, new TextEncoder().encode(String(Math.floor(before))))
}

/** Milliseconds since the epoch; undefined where none were purged. */
export async function keysPurged(store: InboxStore): Promise<number | undefined> {
  const kept = new TextDecoder().decode(await store.recall(keysPurgedSetting, new Uint8Array()))
  return kept === '' ? undefined : Number(kept)
}
