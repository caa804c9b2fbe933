// The deliveries that are at work, counted for those who wait until they have ended.
import { deferred } from '../foundation/promises.ts'

interface ProcessWork {
  /** Of receivers that have deliveries at work: what aborts them. */
  readonly busy: Set<() => void>
  readonly waiting: (() => void)[]
  /** It is about to exit: every receiver refuses what arrives. */
  isEnding: boolean
}

const registry = Symbol.for('idv-webhooks.in-flight')

/** One for all copies of this package in a process. */
function workOfProcess(): ProcessWork {
  const all = globalThis as { [registry]?: ProcessWork }
  all[registry] ??= { busy: new Set(), waiting: [], isEnding: false }
  return all[registry]
}

/** From now on every receiver of the process refuses what arrives, or no more. */
export function endProcess(isEnding = true): void {
  workOfProcess().isEnding = isEnding
}

export const isProcessEnding = (): boolean => workOfProcess().isEnding

/** Resolves when no receiver of the process has a delivery at work. */
export async function noneInProcess(): Promise<void> {
  const { busy, waiting } = workOfProcess()
  while (busy.size > 0) await new Promise<void>((resolve) => waiting.push(resolve))
}

/** Aborts the handlers of every receiver. */
export function abortInProcess(): void {
  for (const abort of [...workOfProcess().busy]) abort()
}

/** Deliveries that began between two waits of `InFlight`: counted, for a set would cost each more. */
class Generation {
  size = 0
  ended: (() => void) | undefined
  readonly #left: () => void

  constructor(left: () => void) {
    this.#left = left
  }

  leave(): void {
    this.size -= 1
    if (this.size === 0) this.ended?.()
    this.#left()
  }
}

/** A delivery that is counted, until it leaves. */
export interface AtWork {
  leave(): void
}

/** The deliveries that are at work, for those who wait until they have ended. */
export class InFlight {
  readonly #process = workOfProcess()
  #isEnding = false
  #all = 0
  /** Those who wait until nothing is at work. */
  #waiting: (() => void)[] = []
  readonly #left = (): void => {
    this.#all -= 1
    if (this.#all > 0) return
    for (const resolve of this.#waiting.splice(0)) resolve()
    const { busy, waiting } = this.#process
    busy.delete(this.#abort)
    if (busy.size === 0) for (const resolve of waiting.splice(0)) resolve()
  }
  #current = new Generation(this.#left)
  /** Resolves when all generations before the current one have ended. */
  #earlier: Promise<void> | undefined
  readonly #abort: () => void

  constructor(abort: () => void) {
    this.#abort = abort
  }

  /** Nothing more is taken. */
  end(): void {
    this.#isEnding = true
  }

  /** Whether it was ended, or the process is about to exit. */
  get isEnding(): boolean {
    return this.#isEnding || this.#process.isEnding
  }

  /** Counts one delivery more. */
  enter(): AtWork {
    if (this.#all === 0) this.#process.busy.add(this.#abort)
    this.#all += 1
    this.#current.size += 1
    return this.#current
  }

  /** Counts some work for as long as it takes; not that of refusals, which strangers can cause. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.isEnding) return work()
    const one = this.enter()
    try {
      return await work()
    } finally {
      one.leave()
    }
  }

  /** Resolves when what is at work now has ended. */
  settled(): Promise<void> {
    const { promise, resolve } = deferred<void>()
    const generation = this.#current
    if (generation.size === 0) resolve()
    else generation.ended = resolve
    this.#current = new Generation(this.#left)
    const both = Promise.all([this.#earlier, promise]).then(() => {
      if (this.#earlier === both) this.#earlier = undefined
    })
    this.#earlier = both
    return both
  }

  /** Resolves when nothing is at work. Of those who wait each may be overtaken by another delivery. */
  async none(): Promise<void> {
    while (this.#all > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
