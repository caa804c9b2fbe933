// Deliveries that are due or in flight: a bounded number for each subscription, one at a time in each
// lane (the ordering key). A queue belongs to one state and ends with it.
import { nextTurn, schedule } from '../../../src/host/runtime.ts'
import { profile } from '../profile.ts'

/** A delivery that is due; the deliveries of a lane go one after the other. */
export interface Due {
  readonly id: string
  readonly subscriptionId: string
  readonly lane: string
}

/** Delivers one; must end soon once the signal is aborted, and change nothing then. */
type Deliver = (id: string, ended: AbortSignal) => Promise<void>

export class DueQueue {
  readonly #deliver: Deliver
  readonly #due = new Map<string, Due>()
  readonly #inFlight = new Map<string, Promise<void>>()
  readonly #counts = new Map<string, number>()
  readonly #ended = new AbortController()
  #isStarting = false

  constructor(deliver: Deliver) {
    this.#deliver = deliver
  }

  add(one: Due): void {
    this.#due.set(one.id, one)
    if (this.#isStarting) return
    this.#isStarting = true
    // Not at once: the request that made the delivery is answered first.
    schedule(() => {
      this.#isStarting = false
      this.#start()
    })
  }

  remove(id: string): void {
    this.#due.delete(id)
  }

  /** Resolves when nothing is due or in flight, or when the queue has ended. */
  async idle(): Promise<void> {
    for (this.#start(); this.busy; this.#start()) {
      await Promise.all(this.#inFlight.values())
      await nextTurn()
    }
  }

  /** True if a delivery is due or in flight. */
  get busy(): boolean {
    const { aborted } = this.#ended.signal
    return !aborted && (this.#isStarting || this.#due.size > 0 || this.#inFlight.size > 0)
  }

  /** Starts nothing more and aborts what is in flight. */
  end(why: string): void {
    this.#ended.abort(new Error(why))
  }

  #start(): void {
    if (this.#ended.signal.aborted) return
    for (const one of this.#due.values()) {
      const count = this.#counts.get(one.subscriptionId) ?? 0
      if (count >= profile.delivery.concurrency || this.#inFlight.has(one.lane)) continue
      this.#begin(one, count)
    }
  }

  #begin({ id, subscriptionId, lane }: Due, count: number): void {
    this.#due.delete(id)
    this.#counts.set(subscriptionId, count + 1)
    const work = this.#deliver(id, this.#ended.signal).finally(() => {
      this.#inFlight.delete(lane)
      this.#counts.set(subscriptionId, (this.#counts.get(subscriptionId) ?? 1) - 1)
      this.#start()
    })
    this.#inFlight.set(lane, work)
  }
}
