// Work that runs one at a time in a process. A host may drop a request with all that it waits for,
// so nobody waits for ever for the one before.
import { inTime } from '../foundation/abortable.ts'

/** Milliseconds without a beginning or an end after which the one before was dropped. */
const patience = 1_000

/** The most that wait at a time: each holds what a stranger sent. */
const mostWaiting = 64

let waiting = 0
let last: Promise<unknown> = Promise.resolve()
let movedAt = 0

/**
 * The result of `work`, which begins when what was asked for before has ended; undefined at once
 * where too many wait.
 */
export async function inTurn<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  // What was dropped never ends: it counts no longer once nothing moves.
  if (performance.now() - movedAt > patience) waiting = 0
  if (waiting >= mostWaiting) return undefined
  waiting += 1
  const before = last
  const over = Promise.withResolvers<void>()
  last = over.promise
  const ended = () =>
    inTime(before, patience, 'the work before').then(
      () => true,
      () => false,
    )
  // One takes the place of what was dropped: it moves the queue, so that the others wait on.
  while (!(await ended()) && performance.now() - movedAt < patience);
  movedAt = performance.now()
  try {
    return await work()
  } finally {
    waiting = Math.max(0, waiting - 1)
    movedAt = performance.now()
    over.resolve()
  }
}
