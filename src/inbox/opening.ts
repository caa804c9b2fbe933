// Opening and closing of a store, one after the other: two openings side by side would leave one of
// them without an end, and a close would end the later one.
import { orAborted } from '../foundation/abortable.ts'
import { deadline, Shared } from './deadline.ts'
import type { InboxStore } from './store.ts'

/** Opens a store and lets it go. */
export interface OpeningDeps<Opened> {
  readonly store: Pick<InboxStore, 'refresh' | 'close'>
  readonly begin: () => Promise<Opened>
}

/** The state of one inbox between `open` and `close`. */
export class StoreOpening<Opened> {
  readonly #deps: OpeningDeps<Opened>
  #opening: Shared<Opened> | undefined
  #closing: Promise<void> | undefined
  #wasClosed = false

  constructor(deps: OpeningDeps<Opened>) {
    this.#deps = deps
  }

  /** Whether it is open, or will be. */
  get isOpen(): boolean {
    return this.#opening !== undefined
  }

  /** Whether it was closed, and not opened since. */
  get isClosed(): boolean {
    return this.#wasClosed && !this.isOpen
  }

  /**
   * Opens the store once for all who ask, after a close that is under way. Where this process may
   * have been frozen since the last time it learns the time first.
   */
  async open(signal?: AbortSignal): Promise<Opened> {
    if (!this.#opening) {
      const opening = new Shared(
        this.#begin().catch((error: unknown) => {
          if (this.#opening === opening) this.#opening = undefined
          throw error
        }),
      )
      this.#opening = opening
    }
    const opened = await this.#opening.value(signal)
    // Without it what is asked is done all the same.
    const refreshed = this.#deps.store.refresh?.().catch(() => {})
    if (refreshed) await (signal ? orAborted(refreshed, signal) : refreshed)
    return opened
  }

  /** Rejects with `STORE_TIMEOUT` after `limit` milliseconds; the store is closed all the same. */
  async close(limit: number): Promise<void> {
    const opening = this.#opening
    this.#opening = undefined
    this.#wasClosed = true
    if (opening) this.#closing = this.#end(opening)
    if (!this.#closing) return
    const { signal, stop } = deadline(limit)
    await orAborted(this.#closing, signal).finally(stop)
  }

  async #begin(): Promise<Opened> {
    await this.#closing?.catch(() => {})
    return this.#deps.begin()
  }

  #end(opening: Shared<Opened>): Promise<void> {
    const closing = opening
      .value()
      .then(
        () => this.#deps.store.close(),
        () => {},
      )
      .finally(() => {
        if (this.#closing === closing) this.#closing = undefined
      })
    return closing
  }
}
