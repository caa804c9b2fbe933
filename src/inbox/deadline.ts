// How long a store is waited for: a sender must hear 503 rather than nothing, and so must whoever
// ends the process.
import { WebhookError } from '../errors.ts'

/** A signal that is aborted with `STORE_TIMEOUT` after `timeout` milliseconds, unless stopped. */
export function deadline(timeout: number) {
  const over = new AbortController()
  const timer = setTimeout(() => {
    over.abort(new WebhookError('STORE_TIMEOUT', `the store did not answer within ${timeout} ms`))
  }, timeout)
  return { signal: over.signal, stop: () => clearTimeout(timer) }
}

/** Lets many callers wait for one promise, and keeps nothing of those who gave up. */
export class Shared<Value> {
  readonly #waiting = new Set<() => void>()
  #outcome: { readonly value: Value } | { readonly error: unknown } | undefined

  constructor(promise: Promise<Value>) {
    const end = (outcome: { readonly value: Value } | { readonly error: unknown }) => {
      this.#outcome = outcome
      for (const wake of this.#waiting) wake()
      this.#waiting.clear()
    }
    promise.then(
      (value) => end({ value }),
      (error: unknown) => end({ error }),
    )
  }

  /** The promise's value or error; rejects with the signal's reason when that comes first. */
  async value(signal?: AbortSignal): Promise<Value> {
    signal?.throwIfAborted()
    if (!this.#outcome) await this.#ended(signal)
    const outcome = this.#outcome
    if (outcome === undefined) throw signal?.reason
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }

  #ended(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal?.removeEventListener('abort', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal?.addEventListener('abort', wake)
    })
  }
}
