// Tells a developer when nobody handles what an inbox keeps.
import { isDevelopment, warn } from '../foundation/warn.ts'

/** Milliseconds after which an entry that is due and not claimed is worth a warning. */
const patience = 30_000

const nobody =
  'the inbox keeps events, and nothing has handled them for 30 s: start a worker with await createWorker(receiver).start(), here or in another process'

/** Warns once, and in development alone: elsewhere the worker's process may be away for a while. */
export class WorkerWatch {
  readonly #lag: () => Promise<number>
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false

  /** `lag` gives the milliseconds for which the oldest entry has been due. */
  constructor(lag: () => Promise<number>) {
    this.#lag = lag
  }

  /** An event was kept. */
  kept(): void {
    if (this.#isOver || this.#timer !== undefined || !isDevelopment()) return
    this.#timer = setTimeout(() => void this.#look(), patience)
    // Timers of browsers and workers are numbers.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  /** A worker of this process asked for work, or the inbox was closed. */
  end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    // A store that does not answer is reported by the deliveries that it refuses.
    const lag = await this.#lag().catch(() => 0)
    this.#timer = undefined
    if (this.#isOver || lag < patience) return
    this.#isOver = true
    warn(nobody, 'NO_WORKER')
  }
}
