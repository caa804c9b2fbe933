// A writer on the calling thread, for drivers that are given as a function: all that was asked in
// one turn of the event loop is one commit.

import { carryOut } from './batch.ts'
import type { SqliteDatabase } from './driver.ts'
import { Engine } from './engine.ts'
import type { Writer } from './line.ts'
import { openOwned } from './opening.ts'

/** @throws WebhookError of `openOwned` */
export function openInline(
  file: string,
  open: (file: string) => SqliteDatabase,
  check: 'integrity' | 'quick',
): Writer & { readonly epoch: number } {
  const owned = openOwned({ file, open, check })
  const engine = new Engine(owned)
  let scheduled: (() => void) | undefined
  const flush = () => {
    const work = scheduled
    scheduled = undefined
    work?.()
  }
  return {
    epoch: owned.epoch,
    send: (calls, answered) => {
      scheduled = () => answered(carryOut(engine, calls))
      setImmediate(flush)
    },
    waitUntilIdle: flush,
    close: async () => owned.close(),
  }
}
