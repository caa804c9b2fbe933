// The signals that a worker obeys while it works: between two runs the process ends at them at once.
import { invalid } from '../foundation/check.ts'
import { exitAfter } from './exit.ts'

interface ProcessLike {
  once(signal: string, listener: () => void): unknown
  off(signal: string, listener: () => void): unknown
  exit(code: number): void
}

interface SignalOptions {
  readonly signals: readonly string[]
  /** Milliseconds that deliveries and handlers have. */
  readonly grace: number
}

interface Drained {
  drain(options: { readonly grace: number }): Promise<void>
}

/** A worker, and the rest of the process that ends with it. */
interface Owned {
  readonly worker: Drained
  readonly pipeline: Drained
  readonly inbox: { readonly timeout: number; close(): Promise<void> }
}

const processHere = () => (globalThis as { process?: ProcessLike }).process

/** The signals of one worker. */
export class Signals {
  readonly #options: SignalOptions
  readonly #owned: Owned
  /** How many of its works are under way. */
  #users = 0

  constructor(options: SignalOptions, owned: Owned) {
    this.#options = options
    this.#owned = owned
  }

  /** @throws WebhookError `OPTION_INVALID` */
  assertSupported(): void {
    if (this.#options.signals.length === 0 || processHere()) return
    throw invalid('signals is not supported here: this runtime has no process')
  }

  /**
   * Obeys them until the function that it returns is called. The first signal drains; a second one
   * ends the process at once, as without us.
   */
  obey(): () => void {
    this.#users += 1
    if (this.#users === 1) {
      for (const signal of this.#options.signals) processHere()?.once(signal, this.#exit)
    }
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#users -= 1
      if (this.#users === 0) this.#ignore()
    }
  }

  readonly #exit = (): void => {
    this.#ignore()
    const { inbox } = this.#owned
    const { grace } = this.#options
    const ending = { grace, end: () => this.#end(), close: () => inbox.close() }
    exitAfter(ending, (code) => processHere()?.exit(code))
  }

  #ignore(): void {
    for (const signal of this.#options.signals) processHere()?.off(signal, this.#exit)
  }

  /** No new deliveries or claims; what runs may finish in time. */
  async #end(): Promise<void> {
    const { worker, pipeline, inbox } = this.#owned
    const { grace } = this.#options
    const { promise: late, resolve } = Promise.withResolvers<void>()
    setTimeout(resolve, grace + inbox.timeout)
    const quiet = Promise.race([pipeline.drain({ grace }), late])
    await Promise.all([worker.drain({ grace }), quiet])
  }
}
