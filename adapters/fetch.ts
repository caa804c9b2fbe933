// Any Request → Response runtime: Hono, Bun, Deno, workers, SvelteKit, Remix.
import { type BodyFault, type Receiver, WebhookError, type Worker } from '../src/index.ts'

const message =
  'the body was read before the receiver: hand it the untouched Request, before request.json() or a body parser'

/** For hosts that stop between requests: what was kept is handled once the reply has left. */
export interface FetchMountOptions {
  readonly worker?: Pick<Worker, 'drainOnce'>
  /** Keeps the host awake until then: Next's `after`; a worker runtime's own is found by itself. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

/**
 * A fetch handler.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example export default { fetch: toFetch(receiver) }
 */
export function toFetch(receiver: Pick<Receiver, 'handle'>, options: FetchMountOptions = {}) {
  checkReceiver('toFetch', receiver)
  checkMount('toFetch', options)
  return async (request: Request, ...context: readonly unknown[]): Promise<Response> => {
    const { status, headers, body } = await receiver.handle({
      method: request.method,
      url: request.url,
      headers: request.headers,
      read: (limit) => readBody(request, limit),
    })
    handleKept(status, {
      ...options,
      waitUntil: options.waitUntil ?? waitUntilOf(context),
    })
    return new Response(body, { status, headers })
  }
}

/** Told where it is mounted, not at the first delivery. */
export function checkReceiver(by: string, receiver: Pick<Receiver, 'handle'>): void {
  if (typeof receiver?.handle === 'function') return
  throw refusal(`${by} needs what createReceiver() gave: ${by}(receiver)`)
}

export function checkMount(by: string, options: FetchMountOptions): void {
  const { worker, waitUntil, ...rest } = options ?? {}
  const unknown = Object.keys(rest)[0]
  if (unknown !== undefined) {
    throw refusal(`${by}: there is no option '${unknown}': did you mean worker or waitUntil?`)
  }
  if (worker !== undefined && typeof worker?.drainOnce !== 'function') {
    throw refusal(`${by}: worker is none: give what createWorker(receiver) made`)
  }
  if (waitUntil !== undefined && typeof waitUntil !== 'function') {
    throw refusal(`${by}: waitUntil is no function: give (work) => …, e.g. Next's after`)
  }
}

function refusal(message: string): WebhookError {
  return new WebhookError('OPTION_INVALID', message)
}

/** Handles what was kept, if the reply says that something was. */
export function handleKept(status: number, { worker, waitUntil }: FetchMountOptions): void {
  if (!worker || status >= 300) return
  // Nothing that fails here may touch the reply: the entries stay kept, for the next run.
  const work = worker.drainOnce().catch(() => {})
  try {
    waitUntil?.(work)
  } catch {}
}

/** `fetch(request, env, context)`: the context of workers and edge runtimes. */
function waitUntilOf(context: readonly unknown[]): FetchMountOptions['waitUntil'] {
  const host = context.find(
    (one) => typeof (one as { waitUntil?: unknown } | null)?.waitUntil === 'function',
  ) as { waitUntil(work: Promise<unknown>): void } | undefined
  return host && ((work) => host.waitUntil(work))
}

async function readBody(request: Request, limit: number): Promise<Uint8Array | BodyFault> {
  if (request.bodyUsed || request.body?.locked) return { code: 'BODY_CONSUMED', message }
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body?.getReader()
  try {
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      length += part.value.length
      if (length > limit) {
        // Not awaited: a stream that never ends need not agree to be cancelled.
        reader?.cancel().catch(() => {})
        return { code: 'BODY_TOO_LARGE' }
      }
      chunks.push(part.value)
    }
  } catch {
    return { code: 'BODY_INCOMPLETE' }
  }
  return join(chunks, length)
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const body = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}
