// Erases content past its retention, page by page, and records what was erased for good.
import type { Purged } from './admin-store.ts'
import type { InboxStore } from './store.ts'

/** Days after which payloads and keys are erased. */
export interface RetentionDays {
  /**
   * Days until a payload is erased after `done`.
   *
   * @default 7
   */
  readonly done: number
  /**
   * Days until a payload is erased after `dead` or `skipped`.
   *
   * @default 90
   */
  readonly dead: number
  /**
   * Days after arrival until the key and the rest of the entry are deleted.
   *
   * @default 30
   */
  readonly keys: number
}

export interface PurgeDeps {
  readonly store: InboxStore
  readonly retention: RetentionDays
  readonly now: number
}

const day = 24 * 60 * 60 * 1000
const pageSize = 500

/**
 * Erases page by page; `isWhole` if nothing is left to erase. With `goesOn`, which ends it, it is the
 * sweep of a worker: it leaves the rest to a purge of another process.
 */
export async function purge(
  { store, retention, now }: PurgeDeps,
  goesOn?: () => boolean,
): Promise<Purged & { readonly isWhole: boolean }> {
  const page = {
    doneBefore: now - retention.done * day,
    deadBefore: now - retention.dead * day,
    keysBefore: now - retention.keys * day,
    limit: pageSize,
    waits: goesOn === undefined,
  }
  await noteKeysPurged(store, page.keysBefore, now)
  let erased = 0
  let deleted = 0
  do {
    const gone = await store.purge(page)
    erased += gone.erased
    deleted += gone.deleted
    const isAny = gone.erased + gone.deleted > 0
    if (!isAny && !gone.hasMore) return { erased, deleted, isWhole: true }
  } while (goesOn?.() ?? true)
  return { erased, deleted, isWhole: false }
}

/** The setting that holds the time before which keys were ever purged. */
export const keysPurgedSetting = 'keys-purged'

/** Called before the keys are purged: a longer retention later brings none back. */
async function noteKeysPurged(store: InboxStore, before: number, now: number): Promise<void> {
  if (before <= ((await keysPurged(store, now)) ?? Number.NEGATIVE_INFINITY)) return
  await store.remember(keysPurgedSetting, new TextEncoder().encode(String(Math.floor(before))))
}

/** The time before which keys were purged; undefined if none were, or by a clock that was ahead. */
export async function keysPurged(store: InboxStore, now: number): Promise<number | undefined> {
  const kept = new TextDecoder().decode(await store.recall(keysPurgedSetting, new Uint8Array()))
  return kept === '' || Number(kept) > now ? undefined : Number(kept)
}
