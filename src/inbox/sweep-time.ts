// The time by which a worker's sweep erases. A clock may be ahead for a moment, as on a machine that
// starts before it was set by the network, and what is erased by it is lost.
import { systemClock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { decodeUtf8, parseJson } from '../foundation/json.ts'
import type { InboxStore } from './store.ts'

const setting = 'swept'
const day = 24 * 60 * 60 * 1000
/** Milliseconds for which a clock has to stand so far ahead. */
const patience = 600_000

interface SweptAt {
  /** The time of the last sweep that believed its clock; 0 before there was one. */
  readonly at: number
  /** When a later sweep first saw a clock that was further ahead. */
  readonly doubted?: number
  /** Weeks by which the next sweep may go on, where sweeps are days apart; 1 by default. */
  readonly weeks?: number
}

/**
 * Milliseconds since the epoch: a day later than the sweep before at the most. A later time is believed
 * once two sweeps that are ten minutes apart have seen it. Where they are days apart it goes on by a
 * week, and by one more each time that this is too little. The first one erases nothing.
 */
export async function sweepTime(
  store: Pick<InboxStore, 'recall' | 'remember' | 'now'>,
  ofInbox: number,
): Promise<number> {
  const before = parsed(await store.recall(setting, new Uint8Array()))
  // The clock of a process keeps a lead that the system's clock took back.
  const now = Math.min(ofInbox, (store.now ?? systemClock)().getTime())
  const next = following(before, now)
  const text = JSON.stringify(next)
  if (text !== JSON.stringify(before)) {
    await store.remember(setting, new TextEncoder().encode(text))
  }
  return next.doubted === undefined ? now : next.at + day
}

function following(before: SweptAt | undefined, now: number): SweptAt {
  // Receivers may have kept what the first worker would erase.
  if (!before) return { at: 0, doubted: now }
  if (now <= before.at + day) {
    // A process that ends soon after its start, again and again, writes nothing for it.
    return Math.abs(now - before.at) < patience ? { at: before.at } : { at: now }
  }
  const { at, doubted = now, weeks = 1 } = before
  if (now - doubted < patience) return { ...before, doubted: Math.min(doubted, now) }
  if (now <= doubted + day) return { at: now }
  if (at === 0) return { at: doubted, doubted: now }
  // Either sweeps are days apart, or two clocks were ahead.
  const most = at + weeks * 7 * day
  if (doubted > most) return { at: most, doubted: now, weeks: weeks + 1 }
  return { at: doubted, doubted: now, weeks }
}

/** Undefined before the first sweep, and for what no sweep has written. */
function parsed(kept: Uint8Array): SweptAt | undefined {
  const text = decodeUtf8(kept)
  const value = text === undefined ? undefined : parseJson(text)?.value
  const { at, doubted, weeks } = Object(value) as SweptAt
  if (![at, doubted ?? 0, weeks ?? 1].every(Number.isFinite)) return undefined
  return { at, ...defined({ doubted, weeks }) }
}
