// Sends one request within its time, and returns the response with its whole body, or how the
// request failed. The time limit and the caller's signal apply even to a fetch that ignores them.
import { orAborted } from '../foundation/abortable.ts'
import { readStream } from '../foundation/bytes.ts'
import { decodeUtf8 } from '../foundation/json.ts'

/** Sends a request, always a `Request` object; the global fetch is one, and so is a sandbox's. */
export type Fetch = (request: Request) => Promise<Response>

/** A response whose body was read to the end. */
export interface Answered {
  readonly status: number
  readonly headers: Headers
  /** Undefined if the body is not UTF-8 or, for error responses, truncated or unbounded. */
  readonly text: string | undefined
}

export type AttemptEnd =
  | ({ readonly kind: 'answered' } & Answered)
  | { readonly kind: 'timeout'; readonly timeout: number }
  | { readonly kind: 'broken'; readonly error: unknown }
  | { readonly kind: 'too large' }
  /** The caller aborted it; `sent` is false only if nothing can have been sent. */
  | { readonly kind: 'aborted'; readonly reason: unknown; readonly sent: boolean }

export interface AttemptRequest {
  readonly url: string
  readonly init: RequestInit
  /** Milliseconds from the first byte sent to the last byte read. */
  readonly timeout: number
  readonly signal?: AbortSignal | undefined
}

/** A page of 100 records is far smaller; a larger body is not a response of this service. */
const maxBytes = 16 * 1024 ** 2
const maxErrorBytes = 1024 ** 2

const timedOut = new DOMException('the attempt took longer than its timeout', 'TimeoutError')

/** Sends once. Never rejects: a failure is a value. */
export async function attempt(
  send: Fetch,
  { url, init, timeout, signal }: AttemptRequest,
): Promise<AttemptEnd> {
  if (signal?.aborted) return { kind: 'aborted', reason: signal.reason, sent: false }
  const stop = new AbortController()
  // Removed below: a caller's signal may outlive millions of calls and must keep nothing of them.
  const cancel = () => stop.abort(signal?.reason)
  signal?.addEventListener('abort', cancel, { once: true })
  const timer = setTimeout(() => stop.abort(timedOut), timeout)
  try {
    return await exchange(send, new Request(url, { ...init, signal: stop.signal }), stop.signal)
  } catch (error) {
    if (signal?.aborted) return { kind: 'aborted', reason: signal.reason, sent: true }
    return stop.signal.aborted ? { kind: 'timeout', timeout } : { kind: 'broken', error }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
  }
}

async function exchange(send: Fetch, request: Request, stop: AbortSignal): Promise<AttemptEnd> {
  const { status, headers, ok, body } = await orAborted(send(request), stop)
  const most = ok ? maxBytes : maxErrorBytes
  const bytes = await readStream(body, { most, signal: stop }).catch((error: unknown) => {
    // The status of an error says enough: a body that fails must not turn it into another error.
    const cancelled = stop.aborted && stop.reason !== timedOut
    if (ok || cancelled) throw error
    return undefined
  })
  if (bytes === undefined && ok) return { kind: 'too large' }
  return { kind: 'answered', status, headers, text: bytes && decodeUtf8(bytes) }
}
