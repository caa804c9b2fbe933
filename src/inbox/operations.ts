// Changes of an inbox by operators, timed and reported to those who listen.

import { WebhookError } from '../errors.ts'
import { sleep } from '../foundation/abortable.ts'

/** An operator's action on entries, by the inbox's own methods. */
export interface Operated {
  readonly asked: 'redrive' | 'replay' | 'dismiss' | 'forget'
  readonly entries: number
  /** Milliseconds that it took. */
  readonly duration: number
  /** Where one was named. */
  readonly entryId?: string
}

interface ProcessOperations {
  readonly underWay: Set<Promise<unknown>>
  /** The stores are about to be closed: what begins now would be cut between two pages. */
  isOver: boolean
}

const registry = Symbol.for('idv-webhooks.operations')

/**
 * One for all copies of this package in a process: bundles have each their own, and an inbox of its
 * own over the same file.
 */
function operationsOfProcess(): ProcessOperations {
  const all = globalThis as { [registry]?: ProcessOperations }
  all[registry] ??= { underWay: new Set(), isOver: false }
  return all[registry]
}

/** The operators' changes of one inbox. */
export class Operations {
  readonly #reports = new Set<(operated: Operated) => void>()
  readonly #process = operationsOfProcess()

  /** The function that it returns ends that. */
  listen(report: (operated: Operated) => void): () => void {
    this.#reports.add(report)
    return () => this.#reports.delete(report)
  }

  /**
   * Reports a change that changed anything.
   *
   * @throws WebhookError `STORE_FAILED` as the process ends
   */
  async run<Result extends number | boolean>(
    asked: Operated['asked'],
    work: () => Promise<Result>,
    entryId?: string,
  ): Promise<Result> {
    const { underWay, isOver } = this.#process
    if (isOver) throw new WebhookError('STORE_FAILED', ending)
    const began = performance.now()
    const working = work()
    underWay.add(working)
    const result = await working.finally(() => underWay.delete(working))
    const details = { duration: performance.now() - began, ...(entryId && { entryId }) }
    const operated = { asked, entries: Number(result), ...details }
    if (operated.entries > 0) for (const report of this.#reports) report(operated)
    return result
  }

  /**
   * Resolves when none is under way in the process, or after so many milliseconds; whatever begins
   * from then on is refused.
   */
  async end(limit: number): Promise<void> {
    const { underWay } = this.#process
    const until = performance.now() + limit
    while (underWay.size > 0 && performance.now() < until) {
      await Promise.race([Promise.allSettled(underWay), sleep(until - performance.now())])
      // Another one may follow it at once.
      await sleep(0)
    }
    this.#process.isOver = true
  }

  /** Refuses none any more. */
  resume(): void {
    this.#process.isOver = false
  }
}

const ending = 'the process ends: nothing was changed, call it again after the next start'
