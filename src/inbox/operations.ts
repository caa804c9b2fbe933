// Changes of an inbox by operators, timed and reported to those who listen.
import type { Operated } from './work.ts'

/** The operators' changes of one inbox. */
export class Operations {
  readonly #reports = new Set<(operated: Operated) => void>()

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
    const result = await work()
    const details = { duration: performance.now() - began, ...(entryId && { entryId }) }
    const operated = { asked, entries: Number(result), ...details }
    if (operated.entries > 0) for (const report of this.#reports) report(operated)
    return result
  }
}
