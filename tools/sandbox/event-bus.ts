// Live events of the sandbox, for every subscriber; the latest events are kept,
// so that a watcher who was cut off can go on where it stopped.

/** One thing that happened; `data` is JSON. */
export interface SandboxEvent {
  readonly id: string
  readonly type: string
  readonly data: unknown
}

/** Events kept for watchers that come back. */
const keptEvents = 1000

export class EventBus {
  readonly #watchers = new Set<(event: SandboxEvent) => void>()
  readonly #latest: SandboxEvent[] = []
  /** Distinguishes the events of this process from those of an earlier one. */
  readonly #run = Date.now().toString(36)
  #last = 0

  publish(type: string, data: unknown): void {
    const event = { id: `${this.#run}-${++this.#last}`, type, data }
    this.#latest.push(event)
    if (this.#latest.length > keptEvents) this.#latest.shift()
    for (const watcher of this.#watchers) watcher(event)
  }

  /** Calls `watcher` with every event from now on; returns the function that ends this. */
  watch(watcher: (event: SandboxEvent) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** The events after the one with this id; undefined when some of them have left the buffer. */
  since(id: string): readonly SandboxEvent[] | undefined {
    const [run, text] = id.split('-')
    const after = Number(text)
    const first = this.#last - this.#latest.length
    if (run !== this.#run || !(after >= first && after <= this.#last)) return undefined
    return this.#latest.slice(after - first)
  }

  get watchers(): number {
    return this.#watchers.size
  }
}
