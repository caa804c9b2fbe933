// Moves the write-ahead log into the file and empties it: when there is nothing else to do, and at
// once after a payload was erased, because the log still has a copy of it.
import { isFatal, type SqliteDatabase } from './driver.ts'

/** Milliseconds without work after which the log is emptied, and between attempts at it. */
const idle = 250
const again = 1_000

export class WalCheckpoint {
  readonly #db: Pick<SqliteDatabase, 'exec' | 'prepare'>
  /** Another connection still reads what must go: the next attempt comes, whatever the load. */
  #isOwed = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #failed: unknown

  constructor(
    db: Pick<SqliteDatabase, 'exec' | 'prepare'>,
    { isOwner }: { readonly isOwner: boolean },
  ) {
    this.#db = db
    // The log of an earlier process may still contain erased data.
    if (isOwner) this.#after(idle)
  }

  /** Throws the error of a failed sync: the system reports it once, and the next sync succeeds. */
  assertSound(): void {
    if (this.#failed !== undefined) throw this.#failed
  }

  worked(hasErased: boolean): void {
    if (hasErased) this.#empty()
    else if (!this.#isOwed) this.#after(idle)
  }

  /** Tries once more before the connection closes, and waits for readers. */
  close(): void {
    clearTimeout(this.#timer)
    if (this.#isOwed) this.#tryEmpty(again)
  }

  #empty(): void {
    this.#isOwed = !this.#tryEmpty(0)
    if (this.#isOwed) this.#after(again)
    else clearTimeout(this.#timer)
  }

  #after(time: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#empty(), time)
    this.#timer.unref?.()
  }

  /** Returns false if a reader prevented it for `wait` milliseconds; the log stays then. */
  #tryEmpty(wait: number): boolean {
    try {
      this.#db.exec(`pragma busy_timeout = ${wait}`)
      try {
        const row = this.#db.prepare('pragma wal_checkpoint(truncate)').get()
        return (row as { readonly busy: unknown } | undefined)?.busy === 0
      } finally {
        this.#db.exec('pragma busy_timeout = 1000')
      }
    } catch (error) {
      if (isFatal(error)) this.#failed = error
      return false
    }
  }
}
