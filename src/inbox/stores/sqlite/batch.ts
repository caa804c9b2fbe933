// Carries out a batch on an owned file and says what it came to, in words that cross threads.

import type { Purged } from '../../admin-store.ts'
import { isFatal } from './driver.ts'
import type { WalCheckpoint } from './wal-checkpoint.ts'
import type { Answer, Call, WorkerQueries } from './worker-queries.ts'
import type { BatchAnswer } from './write-queue.ts'

/** Never throws: the error's text is SQLite's own and holds no data. */
export function carryOut(
  engine: WorkerQueries,
  log: WalCheckpoint,
  calls: readonly Call[],
): BatchAnswer {
  try {
    const answers = engine.transact(calls)
    log.worked(calls.some(([method], at) => hasErased(method, answers[at])))
    return { ok: true, answers }
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown'
    return { ok: false, message, fatal: isFatal(error) }
  }
}

function hasErased(method: Call[0], answer: Answer | undefined): boolean {
  if (!answer?.ok) return false
  if (method === 'forget') return answer.value !== 0
  return method === 'purge' && (answer.value as Purged).erased > 0
}
