// A writer on the calling thread, for drivers that are given as a function: all calls of one turn
// of the event loop are one commit.
import { Batches } from './batches.ts'
import type { Owned } from './opening.ts'
import type { Writer } from './write-queue.ts'

/** A writer, and the number of its ownership; an operator's has none. */
export interface OpenWriter extends Writer {
  readonly epoch: number | undefined
}

export function openInline(owned: Owned): OpenWriter {
  const batches = new Batches(owned)
  let scheduled: (() => void) | undefined
  const flush = () => {
    const work = scheduled
    scheduled = undefined
    work?.()
  }
  return {
    epoch: owned.epoch,
    send: (calls, answered) => {
      scheduled = () => answered(batches.carryOut(calls))
      setImmediate(flush)
    },
    waitUntilIdle: flush,
    close: async () => batches.close(),
  }
}
