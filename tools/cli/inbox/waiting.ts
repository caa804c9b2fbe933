// Why an open entry waits: for the moment of its retry, or for that of an earlier entry about the
// same entity.
import type { Entry, Inbox } from '../../../src/inbox/index.ts'
import { spanOf, stamp } from '../moment.ts'

/** When a retry is due, and how long that is from now; undefined for entries in other states. */
export function dueText({ state, dueAt }: Entry, now: Date): string | undefined {
  if (state !== 'retry' || !dueAt) return undefined
  const left = dueAt.getTime() - now.getTime()
  return left > 0 ? `due ${stamp(dueAt)} (in ${spanOf(left)})` : 'due now'
}

/** The most retries that are looked at; of more, the newest. */
const mostRetries = 500

/** The entries that wait for a retry, each with the id of that one. */
export async function entriesBehind(
  inbox: Inbox,
  entries: readonly Entry[],
): Promise<ReadonlyMap<string, string>> {
  const stored = entries.filter(({ state }) => state === 'stored')
  const found = stored.length > 0 && (await inbox.find({ state: 'retry', limit: mostRetries }))
  const retries = new Map<string, Entry>()
  for (const retry of found ? found.entries : []) {
    const lane = laneOf(retry)
    if (lane !== undefined) retries.set(lane, retry)
  }
  return new Map(
    stored.flatMap((entry): (readonly [string, string])[] => {
      const retry = retries.get(laneOf(entry) ?? '')
      // A redriven entry may stand before it.
      const isLater = retry !== undefined && retry.receivedAt <= entry.receivedAt
      return isLater ? [[entry.id, retry.id]] : []
    }),
  )
}

/** The lane is the ordering key: one entity of one tenant. */
function laneOf({ entity, tenant }: Entry): string | undefined {
  return entity && JSON.stringify([tenant, entity.type, entity.id])
}
