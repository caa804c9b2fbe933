// Changes of an inbox by operators, timed and reported to those who listen.

/** An operator's action on entries, by the inbox's own methods. */
export interface Operated {
  readonly asked: 'redrive' | 'replay' | 'dismiss' | 'forget'
  readonly entries: number
  /** Milliseconds that it took. */
  readonly duration: number
  /** Where one was named. */
  readonly entryId?: string
}

const registry = Symbol.for('idv-webhooks.operations')

/**
 * One for all copies of this package in a process: bundles have each their own, and an inbox of its
 * own over the same file.
 */
function underWayInProcess(): Set<Promise<unknown>> {
  const all = globalThis as { [registry]?: Set<Promise<unknown>> }
  all[registry] ??= new Set()
  return all[registry]
}

/** The operators' changes of one inbox. */
export class Operations {
  readonly #reports = new Set<(operated: Operated) => void>()
  readonly #underWay = underWayInProcess()

  /** The function that it returns ends that. */
  listen(report: (operated: Operated) => void): () => void {
    this.#reports.add(report)
    return () => this.#reports.delete(report)
  }

  /** Reports a change that changed anything. */
  async run<Result extends number | boolean>(
    asked: Operated['asked'],
    work: () => Promise<Result>,
    entryId?: string,
  ): Promise<Result> {
    const began = performance.now()
    const working = work()
    this.#underWay.add(working)
    const result = await working.finally(() => this.#underWay.delete(working))
    const details = { duration: performance.now() - began, ...(entryId && { entryId }) }
    const operated = { asked, entries: Number(result), ...details }
    if (operated.entries > 0) for (const report of this.#reports) report(operated)
    return result
  }

  /** Resolves when none is under way in the process, nor begins as another one ends. */
  async ended(): Promise<void> {
    while (this.#underWay.size > 0) {
      await Promise.allSettled(this.#underWay)
      await new Promise((resolve) => setTimeout(resolve))
    }
  }
}
