// Work that runs one at a time in a process. A host may drop a request with all that it waits for,
// so nobody waits for ever for the one before.
import { inTime } from '../foundation/abortable.ts'
import { deferred } from '../foundation/promises.ts'

/** Milliseconds without a beginning or an end after which the one before was dropped. */
const patience = 1_000

/** The most that wait at a time: each holds what a stranger sent. */
const mostWaiting = 64

/** Since when they wait. */
let waiting: number[] = []
let last: Promise<unknown> = Promise.resolve()
let movedAt = 0

/** Work that is long says so, so that nobody takes it for dropped. */
export function moving(): void {
  movedAt = performance.now()
}

/**
 * The result of `work`, which begins when what was asked for before has ended; undefined at once
 * where too many wait.
 */
export async function inTurn<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  const since = performance.now()
  if (waiting.length >= mostWaiting) {
    // What was dropped never ends: it counts for as long as all of them could take.
    waiting = waiting.filter((began) => since - began < mostWaiting * patience)
    if (waiting.length >= mostWaiting) return undefined
  }
  waiting.push(since)
  const before = last
  const over = deferred<void>()
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
    const at = waiting.indexOf(since)
    if (at >= 0) waiting.splice(at, 1)
    movedAt = performance.now()
    over.resolve()
  }
}
