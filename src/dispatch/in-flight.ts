// The deliveries in flight, for callers that wait until they have ended.
import { processState } from '../host/process.ts'

/** Makes every receiver of this process reject deliveries; `false` undoes it. */
export function endProcess(isEnding = true): void {
  processState().isEnding = isEnding
}

export const isProcessEnding = (): boolean => processState().isEnding

/** Resolves when no receiver of the process has a delivery in flight. */
export async function noneInProcess(): Promise<void> {
  const { busy, onIdle } = processState()
  while (busy.size > 0) await new Promise<void>((resolve) => onIdle.push(resolve))
}

/** Aborts the handlers of every receiver. */
export function abortInProcess(): void {
  for (const abort of [...processState().busy]) abort()
}

interface Waiter {
  /** The deliveries that it still waits for. */
  readonly left: Set<object>
  readonly resolve: () => void
}

/** The deliveries of one receiver that are in flight. */
export class InFlight {
  readonly #process = processState()
  readonly #all = new Set<object>()
  readonly #waiters = new Set<Waiter>()
  readonly #abort: () => void
  #isEnding = false

  /** `abort` ends the handlers of the receiver. */
  constructor(abort: () => void) {
    this.#abort = abort
  }

  /** Makes the receiver reject deliveries. */
  end(): void {
    this.#isEnding = true
  }

  /** True once the receiver drains, or the process is about to exit. */
  get isEnding(): boolean {
    return this.#isEnding || this.#process.isEnding
  }

  /**
   * Counts a delivery until it leaves; not once the receiver drains, because unauthenticated clients
   * could then keep the process from ending. False if it drains.
   */
  enter(delivery: object): boolean {
    if (this.#isEnding || this.#process.isEnding) return false
    if (this.#all.size === 0) this.#process.busy.add(this.#abort)
    this.#all.add(delivery)
    return true
  }

  leave(delivery: object): void {
    if (!this.#all.delete(delivery)) return
    for (const waiter of this.#waiters) {
      if (!waiter.left.delete(delivery) || waiter.left.size > 0) continue
      this.#waiters.delete(waiter)
      waiter.resolve()
    }
    if (this.#all.size > 0) return
    const { busy, onIdle } = this.#process
    busy.delete(this.#abort)
    if (busy.size === 0) for (const resolve of onIdle.splice(0)) resolve()
  }

  /** Resolves when the deliveries that are in flight now have ended. */
  settled(): Promise<void> {
    if (this.#all.size === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.add({ left: new Set(this.#all), resolve })
    return promise
  }

  /** Resolves when no delivery is in flight. New deliveries can delay it. */
  async none(): Promise<void> {
    while (this.#all.size > 0) await this.settled()
  }
}
