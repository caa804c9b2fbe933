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
  /** Something changed of what is written with every transaction, and nothing else. */
  touch(): void
  /** Resolves when all that was recorded so far is durable; rejects when it could not be. */
  settled(): Promise<void>
  /** Forgets what waits and writes the whole state instead. */
  replace(changes: readonly Change[]): void
}

/** `always` gives what is written with every transaction: clock, dice, faults, rates, counter. */
export function createJournal(
  sink: ChangeSink | undefined,
  always: () => readonly Change[],
): Journal {
  const waiting = new Map<string, Change>()
  let touched = false
  let flushing: Promise<void> | undefined

  const nothing = () => waiting.size === 0 && !touched
  const flush = () => {
    flushing = undefined
    if (!sink || nothing()) return
    sink.write([...waiting.values(), ...always()])
    waiting.clear()
    touched = false
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
    if (!sink || nothing()) return Promise.resolve()
    flushing ??= soon()
    return flushing
  }
  // What the clock or a delivery changed has nobody who waits for it; it stays waiting when the
  // disk is full, and the next answer that needs it says so.
  const later = () => void settled().catch(() => {})

  return {
    record(change) {
      if (!sink) return
      waiting.set(`${change.kind}/${change.id}`, change)
      later()
    },
    touch() {
      touched = true
      later()
    },
    settled,
    replace(changes) {
      waiting.clear()
      touched = false
      sink?.replace([...changes, ...always()])
    },
  }
}
