// A writer on the calling thread, for drivers that are given as a function: all that was asked in
// one turn of the event loop is one commit.

import { carryOut } from './batch.ts'
import type { Owned } from './opening.ts'
import { WalCheckpoint } from './wal-checkpoint.ts'
import { WorkerQueries } from './worker-queries.ts'
import type { Writer } from './write-queue.ts'

export function openInline(owned: Owned): Writer & { readonly epoch: number | undefined } {
  const engine = new WorkerQueries(owned)
  const log = new WalCheckpoint(engine)
  let scheduled: (() => void) | undefined
  const flush = () => {
    const work = scheduled
    scheduled = undefined
    work?.()
  }
  return {
    epoch: owned.epoch,
    send: (calls, answered) => {
      scheduled = () => answered(carryOut(engine, log, calls))
      setImmediate(flush)
    },
    waitUntilIdle: flush,
    close: async () => {
      log.close()
      owned.close()
    },
  }
}
