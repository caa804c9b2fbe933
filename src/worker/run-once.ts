// runOnce: handles the due entries once, for hosts that run by a schedule or after each reply, and
// sweeps the retention beside that.
import { type Clock, stopwatch } from '../foundation/clock.ts'
import type { DurableInbox } from '../inbox/inbox.ts'
import type { FailedRequest } from '../inbox/work.ts'
import type { RunOnceOptions, RunOnceReport } from './options.ts'
import type { WorkerRun } from './run.ts'

export interface RunOnceDeps {
  readonly now: Clock
  ready(): Promise<void>
  /** Resolves with whether the sweep was cut short. */
  sweep(goesOn: () => boolean): Promise<void>
}

/** Empty claims in a row that end a run: a claim may see some tenants only, or locked lanes. */
const maxEmptyClaims = 100

export async function runOnce(
  run: WorkerRun,
  { limit, timeout, grace }: Required<RunOnceOptions>,
  { now, ready, sweep }: RunOnceDeps,
): Promise<RunOnceReport> {
  const scope = run.beginScope(timeout + grace)
  try {
    await ready()
    const report = { done: 0, retry: 0, dead: 0, skipped: 0, released: 0, lost: 0 }
    const elapsed = stopwatch(now)
    // A caller may wait: the sweep has a tenth of the time, a second at most, and goes on next time.
    const sweeping = sweep(() => timeout === Infinity || elapsed() < Math.min(timeout / 10, 1_000))
    const bounds = { running: scope.running, left: () => timeout - elapsed() }
    let empty = 0
    for (let max = limit; max > 0 && run.isOpen && elapsed() < timeout; ) {
      const claimed = await run.claim({ ...bounds, max })
      const { attempts, next = Number.POSITIVE_INFINITY } = claimed
      empty = attempts.length > 0 ? 0 : empty + 1
      if (empty > maxEmptyClaims || (empty > 0 && next > now().getTime())) break
      max -= attempts.length
      for (const state of await Promise.all(attempts)) report[state]++
    }
    await sweeping
    return report
  } finally {
    scope.end()
  }
}

export const hour = 60 * 60 * 1000

/** The retention sweeps of one worker: at most one an hour. */
export class Retention {
  readonly #inbox: DurableInbox
  readonly #failed: (failed: FailedRequest) => void
  #doneAt = Number.NEGATIVE_INFINITY
  #isSweeping = false

  constructor(inbox: DurableInbox, failed: (failed: FailedRequest) => void) {
    this.#inbox = inbox
    this.#failed = failed
  }

  /** Sweeps while `goesOn`, and goes on after a sweep that was cut short. */
  async sweep(goesOn: () => boolean): Promise<void> {
    if (this.#isSweeping) return
    this.#isSweeping = true
    const began = performance.now()
    try {
      const start = this.#inbox.now().getTime()
      const age = start - this.#doneAt
      const isDue = age < 0 || age >= hour * 0.9
      if (isDue && goesOn() && (await this.#inbox.purgeWhile(goesOn))) this.#doneAt = start
    } catch (error) {
      this.#failed({ asked: 'purge', error, began })
    } finally {
      this.#isSweeping = false
    }
  }
}
