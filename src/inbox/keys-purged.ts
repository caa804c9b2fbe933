// The time before which keys were ever purged: a retention that was raised since brings none back.
import type { InboxStore } from './store.ts'

/** The setting that operators store too. */
export const keysPurgedSetting = 'keys-purged'

/** Called before keys from before that time go. */
export async function noteKeysPurged(
  store: InboxStore,
  { before, now }: { readonly before: number; readonly now: number },
): Promise<void> {
  if (before <= ((await keysPurged(store, now)) ?? Number.NEGATIVE_INFINITY)) return
  await store.remember(keysPurgedSetting, new TextEncoder().encode(String(Math.floor(before))))
}

/**
 * Milliseconds since the epoch; undefined where none were purged, as far as is known: a time in the
 * future is of a clock that was ahead.
 */
export async function keysPurged(store: InboxStore, now: number): Promise<number | undefined> {
  const kept = new TextDecoder().decode(await store.recall(keysPurgedSetting, new Uint8Array()))
  return kept === '' || Number(kept) > now ? undefined : Number(kept)
}
