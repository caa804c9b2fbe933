// What a fault of the API does to a request: an error, silence, a broken body or a late answer.

import { rateLimited } from './authenticate.ts'
import { HttpError } from './http-error.ts'
import type { ApiFault } from './ports.ts'

/** Meets a fault, then answers; `closing` ends what waits when the sandbox closes. */
export async function withFault(
  fault: ApiFault,
  request: Request,
  parts: { readonly closing: AbortSignal; readonly answer: () => Promise<Response> },
): Promise<Response> {
  const seconds = fault.seconds ?? 1
  switch (fault.kind) {
    case 'error-429':
      throw rateLimited({ limit: 0, remaining: 0, retryAfter: Math.max(1, Math.ceil(seconds)) })
    case 'error-500':
      throw new HttpError(500, 'The service failed, as a fault asked for')
    case 'timeout':
      await gone(request.signal, parts.closing)
      throw new HttpError(503, 'The service did not answer, as a fault asked for')
    case 'malformed-json': {
      const answer = await parts.answer()
      const text = await answer.text()
      const headers = new Headers(answer.headers)
      headers.delete('content-length')
      return new Response(text.slice(0, Math.ceil(text.length / 2)), {
        status: answer.status,
        headers,
      })
    }
    case 'slow':
      await gone(request.signal, parts.closing, seconds * 1000)
      return parts.answer()
    default:
      return parts.answer()
  }
}

/** Resolves when the caller has left, the sandbox closes or, if given, the time is over. */
async function gone(caller: AbortSignal, closing: AbortSignal, ms?: number): Promise<void> {
  const signals = [caller, closing, ...(ms === undefined ? [] : [AbortSignal.timeout(ms)])]
  const any = AbortSignal.any(signals)
  if (any.aborted) return
  // A timer that holds the process: the signal of a timeout does not.
  const timer = ms === undefined ? undefined : setTimeout(() => {}, ms)
  await new Promise((resolve) => any.addEventListener('abort', resolve, { once: true }))
  clearTimeout(timer)
}
