// Erases what is past its retention, page by page, and remembers what is gone for good.
import { type Clock, systemClock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { decodeUtf8, parseJson } from '../foundation/json.ts'
import type { Purged } from './admin-store.ts'
import type { InboxStore } from './store.ts'

/** Days after which payloads and keys are erased. */
export interface RetentionDays {
  readonly done: number
  readonly dead: number
  readonly keys: number
}

/** Dependencies of a purge. */
export interface PurgeDeps {
  readonly store: InboxStore
  readonly retention: RetentionDays
  readonly now: Clock
  /** True if `now` is a machine's clock, which may be ahead for a moment. */
  readonly doubtsClock: boolean
}

const day = 24 * 60 * 60 * 1000
const pageSize = 500

/**
 * Erases page by page; `isWhole` if nothing is left to erase. With `goesOn`, which ends it, it is the
 * sweep of a worker: it leaves the rest to a purge of another process, and doubts the clock.
 */
export async function purge(
  { store, retention, now: clock, doubtsClock }: PurgeDeps,
  goesOn?: () => boolean,
): Promise<Purged & { readonly isWhole: boolean }> {
  const isSweep = goesOn !== undefined
  const at = clock().getTime()
  const now = isSweep && doubtsClock ? await sweepTime(store, at) : at
  const page = {
    doneBefore: now - retention.done * day,
    deadBefore: now - retention.dead * day,
    keysBefore: now - retention.keys * day,
    limit: pageSize,
    waits: !isSweep,
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

/**
 * The time before which keys were purged, in milliseconds since the epoch; undefined if none were. A
 * time in the future was written by a clock that was ahead.
 */
export async function keysPurged(store: InboxStore, now: number): Promise<number | undefined> {
  const kept = new TextDecoder().decode(await store.recall(keysPurgedSetting, new Uint8Array()))
  return kept === '' || Number(kept) > now ? undefined : Number(kept)
}

const sweptSetting = 'swept'
const tenMinutes = 600_000

interface SweptAt {
  /** The time of the last sweep that believed its clock; 0 if there was none. */
  readonly at: number
  /** When a later sweep first saw a clock more than a day ahead of that. */
  readonly doubted?: number
}

/**
 * The time by which a sweep erases, because a machine may start before its clock is set: at most a day
 * after the last sweep, until a sweep ten minutes later confirms the time. The first erases nothing.
 */
async function sweepTime(
  store: Pick<InboxStore, 'recall' | 'remember' | 'now'>,
  ofInbox: number,
): Promise<number> {
  const before = parsed(await store.recall(sweptSetting, new Uint8Array()))
  // The inbox's clock keeps a lead that the system's clock took back.
  const now = Math.min(ofInbox, (store.now ?? systemClock)().getTime())
  const next = following(before, now)
  const text = JSON.stringify(next)
  if (text !== JSON.stringify(before)) {
    await store.remember(sweptSetting, new TextEncoder().encode(text))
  }
  return next.doubted === undefined ? now : next.at + day
}

function following(before: SweptAt | undefined, now: number): SweptAt {
  if (!before) return { at: 0, doubted: now }
  const { at, doubted = now } = before
  if (now <= at + day) return Math.abs(now - at) < tenMinutes ? { at } : { at: now }
  if (now - doubted < tenMinutes) return { at, doubted: Math.min(doubted, now) }
  if (now <= doubted + day) return { at: now }
  // Sweeps are days apart: the time of the sweep before is confirmed.
  return { at: doubted, doubted: now }
}

/** Undefined before the first sweep, and for anything that no sweep has written. */
function parsed(kept: Uint8Array): SweptAt | undefined {
  const text = decodeUtf8(kept)
  const value = text === undefined ? undefined : parseJson(text)?.value
  const { at, doubted } = Object(value) as SweptAt
  if (![at, doubted ?? 0].every(Number.isFinite)) return undefined
  return { at, ...defined({ doubted }) }
}
