// runOnce: what is due is handled once, for hosts that run by a schedule or after each reply.
import type { Clock } from '../foundation/clock.ts'
import { checkedBounds, type RunOnceOptions, type RunOnceReport } from './options.ts'
import { sweepOfRun } from './retention.ts'
import type { WorkerRun } from './run.ts'
import { VainClaims } from './vain-claims.ts'

/** Dependencies of what drains once. */
export interface DrainOnceDeps {
  readonly now: Clock
  openRun(): WorkerRun
  /** Opens the inbox. */
  ready(): Promise<void>
  /** Heeds the signals of the worker until what it returns is called. */
  obey(): () => void
  /** Resolves with whether the sweep was cut short. */
  sweepRetention(run: WorkerRun, goesOn: () => boolean): Promise<boolean>
}

const nothing: RunOnceReport = { done: 0, retry: 0, dead: 0, skipped: 0, released: 0, lost: 0 }

/** All that drains once for one worker. */
export class DrainOnce {
  readonly #deps: DrainOnceDeps
  /** Without bounds, and it has not looked for work yet. */
  #next: Promise<RunOnceReport> | undefined

  constructor(deps: DrainOnceDeps) {
    this.#deps = deps
  }

  /**
   * Hosts call it after every reply. While all places are taken one waits for room, and finds what
   * those after it would: they end with it. Each on its own would be a loop for every delivery of a
   * burst.
   */
  async run(options: RunOnceOptions = {}): Promise<RunOnceReport> {
    const bounds = checkedBounds(options)
    if (Number.isFinite(bounds.limit) || Number.isFinite(bounds.timeout)) return this.#run(bounds)
    if (this.#next) return this.#next.then(() => nothing)
    let hasLooked = false
    const look = () => {
      if (!hasLooked) this.#next = undefined
      hasLooked = true
    }
    this.#next = this.#run(bounds, look).finally(look)
    return this.#next
  }

  async #run(
    { limit, timeout, grace }: Required<RunOnceOptions>,
    look?: () => void,
  ): Promise<RunOnceReport> {
    const { now, openRun, ready, obey, sweepRetention } = this.#deps
    const run = openRun()
    const scope = run.scopes.begin(timeout + grace)
    const release = obey()
    try {
      await ready()
      const report = { ...nothing }
      const claims = new VainClaims(now)
      const { elapsed, goesOn, endWork } = sweepOfRun(timeout, now)
      const sweeping = sweepRetention(run, goesOn)
      const bounds = { running: scope.running, left: () => timeout - elapsed(), look }
      for (let most = limit; most > 0 && run.isOpen && elapsed() < timeout; ) {
        const { attempts, next } = await run.claim({ ...bounds, most })
        if (!claims.goesOn(attempts.length, next)) break
        most -= attempts.length
        for (const state of await Promise.all(attempts)) report[state]++
      }
      endWork()
      if (await sweeping) await sweepRetention(run, goesOn)
      return report
    } finally {
      scope.end()
      release()
    }
  }
}
