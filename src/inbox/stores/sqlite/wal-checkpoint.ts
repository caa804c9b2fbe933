// Moves the write-ahead log into the file and empties it: when there is nothing else to do, and at
// once after something was erased, of which the log still has a copy.

import { isFatal } from './driver.ts'

/** The parts of an engine that a checkpoint uses. */
export interface LogEngine {
  /** Moves the log and empties it; false while another connection still reads from it. */
  emptyLog(patience?: number): boolean
}

/** Milliseconds without work after which the log is emptied, and between attempts at it. */
const idle = 250
const again = 1_000

/** Looks after the log of one connection. */
export class WalCheckpoint {
  readonly #engine: LogEngine
  /** Another connection reads from what must go; whatever the load, it is tried again. */
  #isOwed = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #failed: unknown

  constructor(engine: LogEngine, { isOwner }: { readonly isOwner: boolean }) {
    this.#engine = engine
    // The log of an earlier process may still contain erased data.
    if (isOwner) this.#rest()
  }

  /** Throws what failed on the way: the system names a failed sync once, and the next one succeeds. */
  assertSound(): void {
    if (this.#failed !== undefined) throw this.#failed
  }

  /** After every batch that wrote; `erased` tells that it took a payload away. */
  worked(erased: boolean): void {
    if (erased) this.#empty()
    else if (!this.#isOwed) this.#rest()
  }

  /** A last time before the connection closes, with patience for whoever reads. */
  close(): void {
    clearTimeout(this.#timer)
    if (this.#isOwed) this.#tryEmpty(again)
  }

  #rest(): void {
    this.#after(idle)
  }

  #empty(): void {
    this.#isOwed = !this.#tryEmpty()
    if (this.#isOwed) this.#after(again)
    else clearTimeout(this.#timer)
  }

  #after(time: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#empty(), time)
    this.#timer.unref?.()
  }

  /** Most failures lose nothing: the log stays, and the next commit fails too. */
  #tryEmpty(patience?: number): boolean {
    try {
      return this.#engine.emptyLog(patience)
    } catch (error) {
      if (isFatal(error)) this.#failed = error
      return false
    }
  }
}
