// The end of a process whose workers obey signals: each vendor has an inbox and so a worker of its own,
// and the first that is done must not cut the others.
import { abortInProcess, endProcess, noneInProcess } from '../dispatch/in-flight.ts'
import { sleep } from '../foundation/abortable.ts'
import type { Operations } from '../inbox/operations.ts'

const registry = Symbol.for('idv-webhooks.ends')

/** The end of one worker. */
export interface Ending {
  /** Drains it. */
  end(): Promise<void>
  /** Milliseconds that deliveries of other receivers have to be answered. */
  readonly grace: number
  /** The operators' calls of the process, which may end in time. */
  readonly operations: Pick<Operations, 'end' | 'resume'>
  /** Lets its store go, which another worker may still need. */
  close(): Promise<void>
}

interface Ends {
  pending: number
  code: number
  /** By `performance.now()`: when the longest grace is over. */
  until: number
  readonly drained: Ending[]
}

/** One for all copies of this package in a process. */
function endsOfProcess(): Ends {
  const all = globalThis as { [registry]?: Ends }
  all[registry] ??= { pending: 0, code: 0, until: 0, drained: [] }
  return all[registry]
}

/** Milliseconds in which a server sends its last replies, also where a middleware holds them back. */
const lastReplies = 200

/** Milliseconds that answers of aborted handlers may take. */
const longestAnswer = 1_000

const noneWithin = (limit: number) => Promise.race([noneInProcess(), sleep(limit)])

/** Exits once every worker that ends has drained and let its store go: with 1 where one failed. */
export function exitAfter(ending: Ending, exit: (code: number) => void): void {
  const ends = endsOfProcess()
  const failed = () => {
    ends.code = 1
  }
  const closed = async () => {
    ends.pending -= 1
    ends.drained.push(ending)
    if (ends.pending > 0) return
    const rest = () => Math.max(0, ends.until - performance.now())
    // Receivers without a worker are cut off otherwise.
    await noneWithin(rest())
    await ending.operations.end(rest())
    abortInProcess()
    await noneWithin(longestAnswer)
    await Promise.all(ends.drained.splice(0).map((one) => one.close().catch(failed)))
    // The last replies must be sent before the process ends.
    setTimeout(() => {
      endProcess(false)
      ending.operations.resume()
      exit(ends.code)
    }, lastReplies)
  }
  ends.pending += 1
  ends.until = Math.max(ends.until, performance.now() + ending.grace)
  endProcess()
  void ending.end().catch(failed).then(closed)
}
