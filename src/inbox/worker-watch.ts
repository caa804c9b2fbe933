// Warns if an inbox stores events and no worker handles them.
import { warn } from '../foundation/warn.ts'
import { isDevelopment } from '../host/runtime.ts'

/** Milliseconds for which an entry may be due before the warning. */
const maxLag = 30_000

const withoutWorker =
  'the inbox keeps events, and nothing has handled them for 30 s: start a worker with await createWorker(receiver).start(), here or in another process'

const failed =
  'the inbox keeps events, and nothing has handled them for 30 s: the worker of this process could not start. Call worker.start() again until it does, or end the process so that it is started again'

/**
 * Warns once: in development, and if a worker of this process could not start. In production the
 * worker's process may be away for a while.
 */
export class WorkerWatch {
  readonly #lag: () => Promise<number>
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  #hasFailed = false

  /** `lag` returns the milliseconds for which the oldest entry has been due. */
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
    this.#timer = setTimeout(() => void this.#check(), maxLag)
    // Timers of browsers and workers are numbers.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  /** A worker of this process asked for work, or the inbox was closed. */
  end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  async #check(): Promise<void> {
    // Failed deliveries report a store that does not answer.
    const lag = await this.#lag().catch(() => 0)
    this.#timer = undefined
    if (this.#isOver || lag < maxLag) return
    this.#isOver = true
    warn(this.#hasFailed ? failed : withoutWorker, 'NO_WORKER')
  }
}
