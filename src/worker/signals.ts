// The signals that a worker obeys while it works: between two runs the process ends at them at once.
import { invalid } from '../foundation/check.ts'
import { deferred } from '../foundation/promises.ts'
import { show, warnOnce } from '../foundation/warn.ts'
import type { WorkSource } from '../inbox/work.ts'
import { exitAfter } from './exit.ts'
import { hear, isInThread, processHere, unhear } from './process-events.ts'

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
  readonly inbox: Pick<WorkSource, 'timeout' | 'operations' | 'close'>
  /** How many entries its handlers are at work on. */
  active(): number
}

const warnInVain = warnOnce()

/** The signals of one worker. */
export class Signals {
  readonly #options: SignalOptions
  readonly #owned: Owned
  /** How many of its works are under way. */
  #users = 0
  #isDraining = false

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
    if (this.#users === 1) this.#listen()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#users -= 1
      if (this.#users > 0) return
      this.#ignore()
      if (!this.#isDraining) unhear('exit', this.#tellCut)
    }
  }

  #listen(): void {
    const { signals } = this.#options
    if (signals.length === 0) return
    if (isInThread()) {
      const message = `signals (${signals.join(', ')}) reach the main thread alone: start the worker there, or drain it when your code ends this thread`
      warnInVain(message, 'SIGNALS_IN_VAIN')
      return
    }
    for (const signal of signals) hear(signal, this.#exit)
    hear('exit', this.#tellCut)
  }

  /** A host with a shutdown of its own ends the process, mostly with 0 or 128 and the signal's number. */
  readonly #tellCut = (code: unknown): void => {
    const active = this.#owned.active()
    const isForeign = this.#isDraining || code === 0 || Number(code) > 128
    if (active === 0 || !isForeign) return
    const entries = active === 1 ? '1 entry was' : `${active} entries were`
    const message = `other code ended the process while ${entries} being handled, in spite of signals: the handlers were cut, and run again after the next start`
    // A process warning would come too late.
    show(message, 'SIGNALS_IN_VAIN')
  }

  readonly #exit = (): void => {
    this.#isDraining = true
    this.#ignore()
    const { inbox } = this.#owned
    const { grace } = this.#options
    const { operations } = inbox
    const ending = { grace, operations, end: () => this.#end(), close: () => inbox.close() }
    exitAfter(ending, (code) => processHere()?.exit(code))
  }

  #ignore(): void {
    for (const signal of this.#options.signals) unhear(signal, this.#exit)
  }

  /** No new deliveries or claims; what runs may finish in time. */
  async #end(): Promise<void> {
    const { worker, pipeline, inbox } = this.#owned
    const { grace } = this.#options
    const { promise: late, resolve } = deferred<void>()
    setTimeout(resolve, grace + inbox.timeout)
    const quiet = Promise.race([pipeline.drain({ grace }), late])
    await Promise.all([worker.drain({ grace }), quiet])
  }
}
