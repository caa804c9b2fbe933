// Counts the deliveries that the deletion of a subscription would drop. First attempts have a moment
// to end, so that steady traffic does not put a deletion off for ever.
import { sleep } from '../../../../src/foundation/abortable.ts'
import type { SubscriptionService } from './subscription-routes.ts'

const tries = 20
const pause = 250

/**
 * Counts the deliveries of a subscription that have not arrived. Those that begin meanwhile do not
 * count: another subscription carries the same events by then.
 */
export async function countUndelivered(
  service: SubscriptionService,
  subscription: string,
  signal: AbortSignal,
): Promise<number> {
  let open = await service.undelivered(subscription)
  const ids = new Set(open.map(({ id }) => id))
  for (let tried = 1; tried < tries; tried += 1) {
    if (open.length === 0 || open.some(({ waits }) => waits) || signal.aborted) break
    await sleep(pause)
    open = (await service.undelivered(subscription)).filter(({ id }) => ids.has(id))
  }
  return open.length
}
