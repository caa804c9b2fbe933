// Faults of the API, applied to a request: an error, silence, a broken body or a late answer.
import { orAborted, sleep } from '../../src/foundation/abortable.ts'
import { rateLimited } from './authenticate.ts'
import { HttpError } from './http-error.ts'
import type { ApiFault } from './schemas/faults.ts'

interface FaultedRequest {
  readonly request: Request
  /** Ends what waits when the sandbox closes. */
  readonly closing: AbortSignal
  readonly answer: () => Promise<Response>
}

export async function withFault(
  { kind, seconds = 1 }: ApiFault,
  { request, closing, answer }: FaultedRequest,
): Promise<Response> {
  const ended = AbortSignal.any([request.signal, closing])
  switch (kind) {
    case 'error-429':
      throw rateLimited({ limit: 0, remaining: 0, retryAfter: Math.max(1, Math.ceil(seconds)) })
    case 'error-500':
      throw new HttpError(500, 'The service failed because of an injected fault')
    case 'timeout':
      await orAborted(new Promise(() => {}), ended).catch(() => {})
      throw new HttpError(503, 'The service did not answer because of an injected fault')
    case 'slow':
      await sleep(seconds * 1000, ended).catch(() => {})
      return answer()
    case 'malformed-json':
      return halved(await answer())
  }
}

async function halved(answer: Response): Promise<Response> {
  const text = await answer.text()
  const headers = new Headers(answer.headers)
  headers.delete('content-length')
  return new Response(text.slice(0, Math.ceil(text.length / 2)), { status: answer.status, headers })
}
