// When a worker claims: at once when it is woken and has room, when the next entry is due, and at
// least every second, so that a clock which was set forward is noticed.
import type { Clock } from '../foundation/clock.ts'

/** The result of a claim. */
export interface Polled {
  /** When the next lane is due. */
  readonly next?: number
  /** There may be more. */
  readonly isFull: boolean
}

/** Dependencies of a poll. */
export interface PollDeps {
  readonly now: Clock
  hasRoom(): boolean
  claim(): Promise<Polled>
  failed(error: unknown, began: number): void
}

const longestSleep = 1_000

/** Node has it, and timers that are due come before it; other runtimes have a timer of 0 alone. */
const { setImmediate: soon = setTimeout } = globalThis as {
  readonly setImmediate?: (run: () => void) => unknown
}
const nextTurn = () => new Promise<void>((resolve) => void soon(resolve))

/**
 * Claims one page after the other, never two at a time. All of it runs in the async context in which
 * it was made: what wakes it may be a request, whose context does not belong to other events.
 */
export class Poll {
  readonly #deps: PollDeps
  #isOpen = true
  #again = false
  #wakeUp: (() => void) | undefined

  constructor(deps: PollDeps) {
    this.#deps = deps
    void this.#run()
  }

  /** There may be something to claim, or room for it. */
  wake(): void {
    this.#again = true
    this.#wakeUp?.()
  }

  stop(): void {
    this.#isOpen = false
    this.#wakeUp?.()
  }

  async #run(): Promise<void> {
    while (this.#isOpen) {
      const wait = await this.#claimAll()
      if (this.#isOpen && !(this.#again && this.#deps.hasRoom())) await this.#woken(wait)
    }
  }

  /** Until it is woken, and never for longer than a second: it may have had no room. */
  async #woken(wait: number): Promise<void> {
    const time = Math.min(Math.max(Math.ceil(wait), 1), longestSleep)
    const timer = setTimeout(() => this.wake(), time)
    await new Promise<void>((resolve) => {
      this.#wakeUp = resolve
    })
    this.#wakeUp = undefined
    clearTimeout(timer)
  }

  /** Milliseconds until the next is due, if the last claim said so. */
  async #claimAll(): Promise<number> {
    let began = performance.now()
    let wait = longestSleep
    try {
      while (this.#again && this.#isOpen && this.#deps.hasRoom()) {
        // Entries that end at the same time leave their room to one claim, not the first to one alone.
        await nextTurn()
        this.#again = false
        began = performance.now()
        const { isFull, next } = await this.#deps.claim()
        if (isFull) this.#again = true
        wait = next === undefined ? longestSleep : next - this.#deps.now().getTime()
      }
      return wait
    } catch (error) {
      this.#again = false
      this.#deps.failed(error, began)
      return longestSleep
    }
  }
}
