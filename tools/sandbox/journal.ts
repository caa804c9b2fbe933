// Changes not yet on disk: rows wait here until one transaction writes them all.
// Nothing is answered before `settled()`; without a file every change is safe at once.

/** One row of the file; `value` is undefined when it is to be removed. */
export interface Change {
  readonly kind: string
  readonly id: string
  readonly value: unknown
}

/** Where changes go: all of them or none. */
export interface ChangeSink {
  write(changes: readonly Change[]): void
  /** Removes everything and writes these instead, all or nothing. */
  replace(changes: readonly Change[]): void
}

export class Journal {
  readonly #sink: ChangeSink | undefined
  readonly #always: () => readonly Change[]
  readonly #waiting = new Map<string, Change>()
  #touched = false
  #flushing: Promise<void> | undefined

  /** `always` gives the rows of every transaction: clock, dice, faults, rates, counter. */
  constructor(sink: ChangeSink | undefined, always: () => readonly Change[]) {
    this.#sink = sink
    this.#always = always
  }

  record(change: Change): void {
    if (!this.#sink) return
    this.#waiting.set(`${change.kind}/${change.id}`, change)
    this.#later()
  }

  /** Records that something of every transaction's rows changed. */
  touch(): void {
    this.#touched = true
    this.#later()
  }

  /** Resolves when everything recorded so far is durable; rejects when it cannot be written. */
  settled(): Promise<void> {
    if (!this.#sink || this.#empty) return Promise.resolve()
    // One turn of the loop gathers the changes of many requests into one transaction.
    this.#flushing ??= new Promise((resolve) => setTimeout(resolve)).then(() => this.#flush())
    return this.#flushing
  }

  /** Forgets what waits and writes the whole state instead. */
  replace(changes: readonly Change[]): void {
    this.#waiting.clear()
    this.#touched = false
    this.#sink?.replace([...changes, ...this.#always()])
  }

  get #empty(): boolean {
    return this.#waiting.size === 0 && !this.#touched
  }

  #flush(): void {
    this.#flushing = undefined
    if (this.#empty) return
    this.#sink?.write([...this.#waiting.values(), ...this.#always()])
    this.#waiting.clear()
    this.#touched = false
  }

  /** Nobody waits for what the clock or a delivery changed; on a full disk it stays waiting. */
  #later(): void {
    this.settled().catch(() => {})
  }
}
