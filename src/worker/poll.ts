// When a worker claims: at once when it is woken and has room, when the next entry is due, and at
// least every second.
import type { Clock } from '../foundation/clock.ts'
import { nextTurn } from '../host/runtime.ts'

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

const maxSleep = 1_000

/**
 * Claims one page after the other, never two at a time. It runs in the async context of its creation:
 * a request may wake it, and that request's context does not belong to other events.
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

  /** Waits until it is woken, and for a second at most: it may have had no room. */
  async #woken(wait: number): Promise<void> {
    const time = Math.min(Math.max(Math.ceil(wait), 1), maxSleep)
    const timer = setTimeout(() => this.wake(), time)
    await new Promise<void>((resolve) => {
      this.#wakeUp = resolve
    })
    this.#wakeUp = undefined
    clearTimeout(timer)
  }

  /** Claims until nothing is left; returns the milliseconds until the next lane is due. */
  async #claimAll(): Promise<number> {
    let began = performance.now()
    let wait = maxSleep
    try {
      while (this.#again && this.#isOpen && this.#deps.hasRoom()) {
        // Entries that end at the same time leave their room to one claim together.
        await nextTurn()
        this.#again = false
        began = performance.now()
        const { isFull, next } = await this.#deps.claim()
        if (isFull) this.#again = true
        wait = next === undefined ? maxSleep : next - this.#deps.now().getTime()
      }
      return wait
    } catch (error) {
      this.#again = false
      this.#deps.failed(error, began)
      return maxSleep
    }
  }
}
