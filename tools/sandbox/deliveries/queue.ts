// Deliveries due now and in flight: a bounded number for each subscription, one at a time in
// each lane (the ordering key). It knows ids alone and is dropped with the state that it serves.

/** Something that is due; what shares a lane goes one after the other. */
export interface Due {
  readonly id: string
  readonly subscriptionId: string
  readonly lane: string
}

export interface DueQueueOptions {
  /** How many of one subscription may be in flight at once. */
  readonly perSubscription: number
  /** Delivers one; must end soon once the signal is aborted, and change nothing then. */
  readonly deliver: (id: string, ended: AbortSignal) => Promise<void>
}

export class DueQueue {
  readonly #options: DueQueueOptions
  readonly #due = new Map<string, Map<string, Due>>()
  readonly #busy = new Map<string, number>()
  readonly #inFlight = new Set<Promise<void>>()
  readonly #lanes = new Set<string>()
  readonly #ended = new AbortController()
  #starting = false

  constructor(options: DueQueueOptions) {
    this.#options = options
  }

  add(one: Due): void {
    const waiting = this.#due.get(one.subscriptionId) ?? new Map<string, Due>()
    this.#due.set(one.subscriptionId, waiting.set(one.id, one))
    if (this.#starting) return
    this.#starting = true
    // Not at once: what was emitted is kept and answered for first.
    setTimeout(() => {
      this.#starting = false
      this.#start()
    })
  }

  remove({ id, subscriptionId }: Pick<Due, 'id' | 'subscriptionId'>): void {
    this.#due.get(subscriptionId)?.delete(id)
  }

  /** Resolves when nothing is due or in flight, or when the queue has ended. */
  async idle(): Promise<void> {
    do {
      this.#start()
      while (!this.#ended.signal.aborted && (this.#inFlight.size > 0 || this.#starting)) {
        await Promise.all(this.#inFlight)
        await new Promise((resolve) => setTimeout(resolve))
      }
    } while (this.busy)
  }

  /** Whether something is due or in flight. */
  get busy(): boolean {
    if (this.#ended.signal.aborted) return false
    const anyDue = [...this.#due.values()].some(({ size }) => size > 0)
    return anyDue || this.#starting || this.#inFlight.size > 0
  }

  /** Starts nothing more and aborts what is in flight. */
  end(why: string): void {
    this.#ended.abort(new Error(why))
  }

  #start(): void {
    for (const subscriptionId of [...this.#due.keys()]) this.#startOf(subscriptionId)
  }

  #startOf(subscriptionId: string): void {
    const waiting = this.#due.get(subscriptionId)
    if (!waiting || this.#ended.signal.aborted) return
    for (const one of waiting.values()) {
      if ((this.#busy.get(subscriptionId) ?? 0) >= this.#options.perSubscription) return
      if (!this.#lanes.has(one.lane)) this.#begin(one)
    }
    if (waiting.size === 0) this.#due.delete(subscriptionId)
  }

  #begin({ id, subscriptionId, lane }: Due): void {
    this.remove({ id, subscriptionId })
    this.#lanes.add(lane)
    this.#busy.set(subscriptionId, (this.#busy.get(subscriptionId) ?? 0) + 1)
    const work = this.#options.deliver(id, this.#ended.signal).finally(() => {
      this.#inFlight.delete(work)
      this.#lanes.delete(lane)
      this.#busy.set(subscriptionId, (this.#busy.get(subscriptionId) ?? 1) - 1)
      this.#startOf(subscriptionId)
    })
    this.#inFlight.add(work)
  }
}
