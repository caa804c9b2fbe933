// Any Request → Response runtime: Hono, Bun, Deno, workers, SvelteKit, Remix.
import type { BodyFault, BodyReading } from '../src/index.ts'
import {
  checkMount,
  checkReceiver,
  type FetchMountOptions,
  type HandlesRequests,
  runAfterReply,
  type WorkerMountOptions,
} from './mount.ts'

export type { FetchMountOptions, HandlesRequests, WorkerMountOptions }
export { runAfterReply }

const message =
  'the body was read before the receiver: hand it the untouched Request, before request.json() or a body parser'

/** A Response of such a status with a body throws. */
const bodiless = new Set([204, 205, 304])

/**
 * A fetch handler.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example export default { fetch: toFetch(receiver) }
 */
export function toFetch(receiver: HandlesRequests, options: FetchMountOptions = {}) {
  checkReceiver('toFetch', receiver)
  checkMount('toFetch', options)
  return async (request: Request, ...context: readonly unknown[]): Promise<Response> => {
    const { status, headers, body } = await receiver.handle({
      method: request.method,
      url: request.url,
      headers: request.headers,
      // Trust is granted here: the host's own arguments are those that the function is typed for.
      address: options.address?.(request, ...(context as never[])),
      read: (reading) => readBody(request, reading),
    })
    if (options.worker) {
      const waitUntil = options.waitUntil ?? waitUntilOf(context)
      runAfterReply(status, { worker: options.worker, waitUntil })
    }
    return new Response(bodiless.has(status) ? null : body, { status, headers })
  }
}

/** `fetch(request, env, context)`: the context of workers and edge runtimes. */
function waitUntilOf(context: readonly unknown[]): FetchMountOptions['waitUntil'] {
  const host = context.find(
    (one) => typeof (one as { waitUntil?: unknown } | null)?.waitUntil === 'function',
  ) as { waitUntil(work: Promise<unknown>): void } | undefined
  return host && ((work) => host.waitUntil(work))
}

async function readBody(request: Request, reading: BodyReading): Promise<Uint8Array | BodyFault> {
  if (request.bodyUsed || request.body?.locked) return { code: 'BODY_CONSUMED', message }
  if (!request.body) return new Uint8Array()
  const reader = request.body.getReader()
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    const stop = (fault: BodyFault) => {
      resolve(fault)
      // Not awaited: a stream that never ends need not agree to be cancelled.
      reader.cancel().catch(() => {})
    }
    reading.onStop(stop)
    const take = ({ done, value }: ReadableStreamReadResult<Uint8Array>): unknown => {
      if (done) return resolve(joined(chunks))
      const fault = reading.take(value.length)
      if (fault) return stop(fault)
      chunks.push(value)
      return reader.read().then(take)
    }
    reader
      .read()
      .then(take)
      .catch(() => resolve({ code: 'BODY_INCOMPLETE' }))
  })
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  if (chunks.length === 1) return chunks[0] as Uint8Array
  const body = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}
