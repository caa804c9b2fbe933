// How long a store is waited for.
import { WebhookError } from '../errors.ts'

/** A sender that waits must hear 503 rather than nothing, and so must whoever ends the process. */
export function deadline(timeout: number, over?: AbortController) {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    reject(new WebhookError('STORE_TIMEOUT', `the store did not answer within ${timeout} ms`))
    over?.abort()
  }, timeout)
  return { late, stop: () => clearTimeout(timer) }
}
