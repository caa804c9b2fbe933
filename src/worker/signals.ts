// The signals of a worker. At a signal every worker of the process drains, and the process exits
// once all of them have closed their stores. A process without work ends at once.
import { abortInProcess, endProcess, noneInProcess } from '../dispatch/in-flight.ts'
import { sleep } from '../foundation/abortable.ts'
import { invalid } from '../foundation/check.ts'
import { show, warnOnce } from '../foundation/warn.ts'
import { processState } from '../host/process.ts'
import { exitProcess, hasProcess, isWorkerThread, offProcess, onProcess } from '../host/runtime.ts'
import type { DurableInbox } from '../inbox/inbox.ts'

interface SignalOptions {
  readonly signals: readonly string[]
  readonly grace: number
}

interface Drained {
  drain(options: { readonly grace: number }): Promise<void>
}

interface Owned {
  readonly worker: Drained
  readonly steps: Drained
  readonly inbox: Pick<DurableInbox, 'timeout' | 'close'>
  active(): number
}

const warnInVain = /* @__PURE__ */ warnOnce()

export class Signals {
  readonly #options: SignalOptions
  readonly #owned: Owned
  /** The number of callers of `listen` that have not stopped. */
  #users = 0
  #isDraining = false

  constructor(options: SignalOptions, owned: Owned) {
    this.#options = options
    this.#owned = owned
  }

  assertSupported(): void {
    if (this.#options.signals.length === 0 || hasProcess()) return
    throw invalid('signals is not supported here: this runtime has no process')
  }

  /** Listens until the returned function is called: a signal drains, a second one ends at once. */
  listen(): () => void {
    this.#users += 1
    if (this.#users === 1) this.#begin()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#users -= 1
      if (this.#users > 0) return
      this.#ignore()
      if (!this.#isDraining) offProcess('exit', this.#warnIfCut)
    }
  }

  #begin(): void {
    const { signals } = this.#options
    if (signals.length === 0) return
    if (isWorkerThread()) {
      const message = `signals (${signals.join(', ')}) reach the main thread alone: start the worker there, or drain it when your code ends this thread`
      warnInVain(message, 'SIGNALS_IN_VAIN')
      return
    }
    for (const signal of signals) onProcess(signal, this.#exit)
    onProcess('exit', this.#warnIfCut)
  }

  /** A host that shuts down by itself exits with 0, or with 128 and the signal's number. */
  readonly #warnIfCut = (code: unknown): void => {
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
    exitAfter({ grace, end: () => this.#end(), close: () => inbox.close() }, exitProcess)
  }

  #ignore(): void {
    for (const signal of this.#options.signals) offProcess(signal, this.#exit)
  }

  async #end(): Promise<void> {
    const { worker, steps, inbox } = this.#owned
    const { grace } = this.#options
    const quiet = Promise.race([steps.drain({ grace }), sleep(grace + inbox.timeout)])
    await Promise.all([worker.drain({ grace }), quiet])
  }
}

export interface Ending {
  end(): Promise<void>
  /** Milliseconds that deliveries of other receivers have. */
  readonly grace: number
  /** Closes the store, which another worker may still need. */
  close(): Promise<void>
}

/** Milliseconds in which a server sends its last replies. */
const lastReplies = 200

/** Milliseconds that replies of aborted handlers may take. */
const maxAbort = 1_000

const noneWithin = (ms: number) => Promise.race([noneInProcess(), sleep(ms)])

/** Exits once every worker that ends has drained and closed its store; with 1 if one failed. */
export function exitAfter({ end, grace, close }: Ending, exit: (code: number) => void): void {
  const { shutdown } = processState()
  const failed = () => {
    shutdown.exitCode = 1
  }
  const drained = async () => {
    shutdown.pending -= 1
    shutdown.closers.push(close)
    if (shutdown.pending > 0) return
    // Receivers without a worker have their grace too.
    await noneWithin(Math.max(0, shutdown.deadline - performance.now()))
    abortInProcess()
    await noneWithin(maxAbort)
    await Promise.all(shutdown.closers.splice(0).map((one) => one().catch(failed)))
    await sleep(lastReplies)
    endProcess(false)
    exit(shutdown.exitCode)
  }
  shutdown.pending += 1
  shutdown.deadline = Math.max(shutdown.deadline, performance.now() + grace)
  endProcess()
  void end().catch(failed).then(drained)
}
