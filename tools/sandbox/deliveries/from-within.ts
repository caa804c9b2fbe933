// Detects calls that wait for deliveries from inside one of them: they would wait for themselves.
import { AsyncLocalStorage } from 'node:async_hooks'
import { WebhookError } from '../../../src/errors.ts'

const deliveries = new AsyncLocalStorage<{ under: boolean }>()

/** Runs the sending of one attempt; what it calls, as long as it lasts, is called from within. */
export async function asDelivery<Result>(send: () => Promise<Result>): Promise<Result> {
  const one = { under: true }
  try {
    return await deliveries.run(one, send)
  } finally {
    one.under = false
  }
}

/**
 * Refuses to wait for deliveries from within one of the same process.
 *
 * @throws WebhookError `CALLED_FROM_DELIVERY`
 */
export function refuseFromWithin(what: string): void {
  if (!deliveries.getStore()?.under) return
  const message = `${what} was called while a delivery waits for its answer, and would wait for that delivery: call it after the answer`
  throw new WebhookError('CALLED_FROM_DELIVERY', message)
}
