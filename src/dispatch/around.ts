// The option `around`: user code that surrounds each run of a handler, and cannot hide what became
// of it.
import { WebhookError } from '../errors.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import type { Context, Handler } from './handler.ts'

/**
 * Surrounds each run of a handler: it must call `run` and await it. An attempt succeeds only if the
 * handler and what surrounds it succeed.
 */
export type Around = (run: () => Promise<unknown>, event: WebhookEvent, context: Context) => unknown

interface Arguments {
  readonly event: WebhookEvent
  readonly context: Context
}

/** Calls a handler. Its name marks where stacks in a bundle are cut: `inspectError` knows it. */
export function callWebhookHandler(handle: Handler, { event, context }: Arguments): unknown {
  return handle(event, context)
}

/** @throws WebhookError `HANDLER_INVALID` when `around` did not call `run`; what either threw */
export async function runAround(around: Around, handle: Handler, args: Arguments): Promise<void> {
  let result: Promise<unknown> | undefined
  const run = () => {
    // Once: a second call gets what the first one came to.
    result ??= (async () => callWebhookHandler(handle, args))()
    // `around` need not await it; its failure is awaited below.
    result.catch(() => {})
    return result
  }
  await around(run, args.event, args.context)
  if (!result) throw new WebhookError('HANDLER_INVALID', notRun)
  await result
}

const notRun =
  'around returned without calling run(), so the handler did not run: call it, e.g. around: (run) => run()'
