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
  #sleep: ReturnType<typeof setTimeout> | undefined
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
      await this.#claimAll()
      if (this.#isOpen && !(this.#again && this.#deps.hasRoom())) await this.#woken()
    }
    clearTimeout(this.#sleep)
  }

  async #woken(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wakeUp = resolve
    })
    this.#wakeUp = undefined
  }

  async #claimAll(): Promise<void> {
    let began = performance.now()
    try {
      while (this.#again && this.#isOpen && this.#deps.hasRoom()) {
        clearTimeout(this.#sleep)
        // Entries that end at the same time leave their room to one claim, not the first to one alone.
        await nextTurn()
        this.#again = false
        began = performance.now()
        const { isFull, next } = await this.#deps.claim()
        if (isFull) this.#again = true
        else this.#sleepUntil(next)
      }
    } catch (error) {
      this.#again = false
      this.#deps.failed(error, began)
      this.#sleepUntil(undefined)
    }
  }

  #sleepUntil(next: number | undefined): void {
    clearTimeout(this.#sleep)
    if (!this.#isOpen) return
    const wait = next === undefined ? longestSleep : next - this.#deps.now().getTime()
    const time = Math.min(Math.max(Math.ceil(wait), 1), longestSleep)
    this.#sleep = setTimeout(() => this.wake(), time)
  }
}
