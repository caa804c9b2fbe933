// The handlers at work, by scope: a scope has an end of its own, at which its handlers are aborted,
// and no others.
import { RunningHandlers } from '../dispatch/running.ts'

/** Milliseconds from which on nothing fits into one timer. */
const tooLong = 2 ** 31

export interface HandlerScope {
  readonly running: RunningHandlers
  /** None of its handlers is at work any more. */
  end(): void
}

export class HandlerScopes {
  /** Of handlers without an end of their own. */
  readonly whole = new RunningHandlers()
  readonly #all = new Set([this.whole])

  /** Aborts its handlers after so many milliseconds: one that had half of them has timed out. */
  begin(time: number): HandlerScope {
    const running = new RunningHandlers()
    this.#all.add(running)
    const abort = () => running.abort(new DOMException('the run is over', 'AbortError'), time / 2)
    const timer = time < tooLong ? setTimeout(abort, time) : undefined
    const end = () => {
      clearTimeout(timer)
      this.#all.delete(running)
    }
    return { running, end }
  }

  abort(reason: unknown): void {
    for (const running of this.#all) running.abort(reason)
  }
}
