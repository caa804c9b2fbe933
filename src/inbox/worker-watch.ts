// Tells a developer when nobody handles what an inbox keeps.
import { warn } from '../foundation/warn.ts'
import { isDevelopment } from '../host/runtime.ts'

/** Milliseconds after which an entry that is due and not claimed is worth a warning. */
const patience = 30_000

const nobody =
  'the inbox keeps events, and nothing has handled them for 30 s: start a worker with await createWorker(receiver).start(), here or in another process'

const failed =
  'the inbox keeps events, and nothing has handled them for 30 s: the worker of this process could not start. Call worker.start() again until it does, or end the process so that it is started again'

/**
 * Warns once: in development, and wherever a worker of this process could not start. Elsewhere the
 * worker's process may be away for a while.
 */
export class WorkerWatch {
  readonly #lag: () => Promise<number>
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  #hasFailed = false

  /** `lag` gives the milliseconds for which the oldest entry has been due. */
  constructor(lag: () => Promise<number>) {
    this.#lag = lag
  }

  /** A worker of this process could not start. */
  failed(): void {
    this.#hasFailed = true
  }

  /** An event was kept. */
  kept(): void {
    if (this.#isOver || this.#timer !== undefined) return
    if (!this.#hasFailed && !isDevelopment()) return
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
    warn(this.#hasFailed ? failed : nobody, 'NO_WORKER')
  }
}
