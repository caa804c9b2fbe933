// runOnce: what is due is handled once, for hosts that run by a schedule or after each reply.
import type { Clock } from '../foundation/clock.ts'
import { isWorkerd } from '../foundation/warn.ts'
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

/** Without bounds, and it has not looked for work yet. */
interface NextRun {
  readonly run: WorkerRun
  readonly report: Promise<RunOnceReport>
  readonly at: number
}

/** Milliseconds in which a run that has room looks for work, also where it opens the inbox first. */
const patience = 10_000

/**
 * Whether it will look for work: it ends with a drain, and a host may drop a request with the run
 * that it began. Nobody may wait for that for ever.
 */
function isGoingOn(next: NextRun, run: WorkerRun): boolean {
  if (next.run !== run || !run.isOpen) return false
  return run.free <= 0 || performance.now() - next.at <= patience
}

/** All that drains once for one worker. */
export class DrainOnce {
  readonly #deps: DrainOnceDeps
  #next: NextRun | undefined

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
    // A request of workerd cannot wait for what another one does.
    const isAlone = Number.isFinite(bounds.limit) || Number.isFinite(bounds.timeout) || isWorkerd()
    if (isAlone) return this.#run(bounds)
    const run = this.#deps.openRun()
    if (this.#next && isGoingOn(this.#next, run))
      return this.#next.report.then(() => ({ ...nothing }))
    const look = () => {
      if (this.#next === next) this.#next = undefined
    }
    const next = { run, report: this.#run(bounds, look), at: performance.now() }
    this.#next = next
    return next.report.finally(look)
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
