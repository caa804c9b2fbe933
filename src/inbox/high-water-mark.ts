// The latest occurrence that was done in a lane, from the event that was handled.
import { defined } from '../foundation/defined.ts'
import { isFinal } from '../protocol/names.ts'
import type { Occurrence } from './work.ts'
import type { HighWaterMark } from './work-store.ts'

const day = 24 * 60 * 60 * 1000

export function highWaterMarkOf(
  { name, occurredAt, decision }: Occurrence,
  now: number,
): HighWaterMark {
  const at = credible(occurredAt?.getTime(), now)
  const decided = decision && defined({ ...decision, at: credible(decision.at, now) })
  return defined({ final: isFinal(name), at, decision: decided })
}

/** A time far in the future would make every later event of the entity stale. */
function credible(at: number | undefined, now: number): number | undefined {
  return at !== undefined && at > now + day ? undefined : at
}
