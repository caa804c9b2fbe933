// Renews the leases of the entries at work, so that no other process takes them over.
import type { FailedRequest, WorkSource } from '../inbox/work.ts'

/**
 * Milliseconds between renewals at most: a step of the database's clock ends all leases at once,
 * and a process that is alive is given 36 s to renew its own.
 */
const longestBeat = 20_000

/** Begins the renewals, one at a time; the function that it returns ends them. */
export function startHeartbeat(
  inbox: Pick<WorkSource, 'renew' | 'lease'>,
  failed: (request: FailedRequest) => void,
): () => void {
  let isRenewing = false
  const beat = setInterval(
    async () => {
      if (isRenewing) return
      isRenewing = true
      const began = performance.now()
      await inbox.renew().catch((error) => failed({ asked: 'renew', error, began }))
      isRenewing = false
    },
    Math.min(inbox.lease / 3, longestBeat),
  )
  beat.unref?.()
  return () => clearInterval(beat)
}
