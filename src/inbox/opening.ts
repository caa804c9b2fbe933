// Opening and closing a store, one after the other, and how long callers wait for it.
import { WebhookError } from '../errors.ts'
import { orAborted } from '../foundation/abortable.ts'
import type { InboxStore } from './store.ts'

/** Creates a signal that is aborted with `STORE_TIMEOUT` after `ms` milliseconds, unless stopped. */
export function deadline(ms: number) {
  const over = new AbortController()
  const timer = setTimeout(() => {
    over.abort(new WebhookError('STORE_TIMEOUT', `the store did not answer within ${ms} ms`))
  }, ms)
  return { signal: over.signal, stop: () => clearTimeout(timer) }
}

/** Dependencies of StoreOpening. */
export interface OpeningDeps<Opened> {
  readonly store: Pick<InboxStore, 'refresh' | 'close'>
  /** Opens the store. */
  readonly begin: () => Promise<Opened>
}

/** The state of one inbox between `open` and `close`. */
export class StoreOpening<Opened> {
  readonly #deps: OpeningDeps<Opened>
  #opening: Promise<Opened> | undefined
  #closing: Promise<void> | undefined
  #wasClosed = false

  constructor(deps: OpeningDeps<Opened>) {
    this.#deps = deps
  }

  /** True if the store is open, or opening. */
  get isOpen(): boolean {
    return this.#opening !== undefined
  }

  /** True if the store was closed, and not opened since. */
  get isClosed(): boolean {
    return this.#wasClosed && !this.isOpen
  }

  /** Opens the store once for all callers, after a close under way, and refreshes its clock. */
  async open(signal?: AbortSignal): Promise<Opened> {
    this.#opening ??= this.#begin()
    const opened = await within(this.#opening, signal)
    const refreshed = this.#deps.store.refresh?.().catch(() => {})
    if (refreshed) await within(refreshed, signal)
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

  #end(opening: Promise<Opened>): Promise<void> {
    const close = () => this.#deps.store.close()
    const closing = opening
      .then(close, () => {})
      .finally(() => {
        if (this.#closing === closing) this.#closing = undefined
      })
    return closing
  }

  #begin(): Promise<Opened> {
    const closed = Promise.resolve(this.#closing).catch(() => {})
    const opening = closed.then(this.#deps.begin)
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined
    })
    return opening
  }
}

const within = <Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> =>
  signal ? orAborted(work, signal) : work
