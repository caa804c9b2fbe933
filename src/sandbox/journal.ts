// What changed and is not yet safe: rows wait here until one transaction holds them all. Nothing
// is answered before `settled()`; without a file everything is safe at once.

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

export interface Journal {
  record(change: Change): void
  /** Resolves when all that was recorded so far is durable; rejects when it could not be. */
  settled(): Promise<void>
  /** Forgets what waits and writes the whole state instead. */
  replace(changes: readonly Change[]): void
}

/** `always` gives what is written with every transaction: the clock, the generator, the counter. */
export function createJournal(
  sink: ChangeSink | undefined,
  always: () => readonly Change[],
): Journal {
  const waiting = new Map<string, Change>()
  let flushing: Promise<void> | undefined

  const flush = () => {
    flushing = undefined
    if (!sink || waiting.size === 0) return
    const changes = [...waiting.values(), ...always()]
    sink.write(changes)
    waiting.clear()
  }
  // One turn of the loop gathers the changes of many requests into one transaction.
  const soon = () =>
    new Promise<void>((resolve, reject) => {
      setTimeout(() => {
        try {
          flush()
          resolve()
        } catch (error) {
          reject(error)
        }
      })
    })

  const settled = () => {
    if (!sink || waiting.size === 0) return Promise.resolve()
    flushing ??= soon()
    return flushing
  }
  return {
    record(change) {
      if (!sink) return
      waiting.set(`${change.kind}/${change.id}`, change)
      // What the clock or a delivery changed has nobody who waits for it; it stays waiting when
      // the disk is full, and the next answer that needs it says so.
      settled().catch(() => {})
    },
    settled,
    replace(changes) {
      waiting.clear()
      sink?.replace([...changes, ...always()])
    },
  }
}
