// Carries out a batch on an owned file and says what it came to, in words that cross threads.

import { isFatal } from './driver.ts'
import type { Call, Engine } from './engine.ts'
import type { BatchAnswer } from './line.ts'

/** Never throws: the error's text is SQLite's own and holds no data. */
export function carryOut(engine: Engine, calls: readonly Call[]): BatchAnswer {
  try {
    const answers = engine.transact(calls)
    if (calls.some(([method]) => method === 'forget')) engine.checkpointWal('truncate')
    return { ok: true, answers }
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown'
    return { ok: false, message, fatal: isFatal(error) }
  }
}
