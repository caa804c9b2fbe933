// runOnce: handles what is due once, for hosts that run by a schedule or after each reply.
import type { Clock } from '../foundation/clock.ts'
import { isolatesRequests } from '../host/runtime.ts'
import { checkedBounds, type RunOnceOptions, type RunOnceReport } from './options.ts'
import { sweepOfRun } from './retention.ts'
import type { WorkerRun } from './run.ts'

/** Dependencies of RunOnce. */
export interface RunOnceDeps {
  readonly now: Clock
  openRun(): WorkerRun
  /** Opens the inbox. */
  ready(): Promise<void>
  /** Listens to the worker's signals until the returned function is called. */
  listen(): () => void
  /** Resolves with whether the sweep was cut short. */
  sweepRetention(run: WorkerRun, goesOn: () => boolean): Promise<boolean>
}

const nothing: RunOnceReport = { done: 0, retry: 0, dead: 0, skipped: 0, released: 0, lost: 0 }

/**
 * The number of empty claims in a row after which a run ends although a lane is due: a claim may look
 * at some tenants only, and lanes may be locked for a moment.
 */
const maxEmptyClaims = 100

/** A run without bounds that waits for a place. */
interface WaitingRun {
  readonly run: WorkerRun
  readonly report: Promise<RunOnceReport>
}

/** The calls of `runOnce` of one worker. */
export class RunOnce {
  readonly #deps: RunOnceDeps
  #waiting: WaitingRun | undefined

  constructor(deps: RunOnceDeps) {
    this.#deps = deps
  }

  /**
   * Hosts call it after every reply. While all places are taken, one call waits and later ones join
   * it: it will find what they would find.
   */
  async run(options: RunOnceOptions = {}): Promise<RunOnceReport> {
    const bounds = checkedBounds(options)
    const isBounded = Number.isFinite(bounds.limit) || Number.isFinite(bounds.timeout)
    if (isBounded || isolatesRequests()) return this.#run(bounds)
    const run = this.#deps.openRun()
    if (this.#waiting?.run === run && run.isOpen) {
      return this.#waiting.report.then(() => ({ ...nothing }))
    }
    const onRoom = () => {
      if (this.#waiting === waiting) this.#waiting = undefined
    }
    const waiting = { run, report: this.#run(bounds, onRoom) }
    this.#waiting = waiting
    return waiting.report.finally(onRoom)
  }

  async #run(
    { limit, timeout, grace }: Required<RunOnceOptions>,
    onRoom?: () => void,
  ): Promise<RunOnceReport> {
    const { now, openRun, ready, listen, sweepRetention } = this.#deps
    const run = openRun()
    const scope = run.beginScope(timeout + grace)
    const release = listen()
    try {
      await ready()
      const report = { ...nothing }
      const { elapsed, goesOn, endWork } = sweepOfRun(timeout, now)
      const sweeping = sweepRetention(run, goesOn)
      const bounds = { running: scope.running, left: () => timeout - elapsed(), onRoom }
      let empty = 0
      for (let max = limit; max > 0 && run.isOpen && elapsed() < timeout; ) {
        const claimed = await run.claim({ ...bounds, max })
        const { attempts, next = Number.POSITIVE_INFINITY } = claimed
        empty = attempts.length > 0 ? 0 : empty + 1
        if (empty > maxEmptyClaims || (empty > 0 && next > now().getTime())) break
        max -= attempts.length
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
