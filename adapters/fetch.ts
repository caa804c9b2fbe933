// Any Request → Response runtime: Hono, Bun, Deno, workers, SvelteKit, Remix.
import type { BodyFault, Receiver } from '../src/index.ts'

const message =
  'the body was read before the receiver: hand it the untouched Request, before request.json() or a body parser'

/**
 * A fetch handler.
 *
 * @example export default { fetch: toFetch(receiver) }
 */
export function toFetch(receiver: Pick<Receiver, 'handle'>) {
  return async (request: Request): Promise<Response> => {
    const { status, headers, body } = await receiver.handle({
      method: request.method,
      url: request.url,
      headers: request.headers,
      read: (limit) => readBody(request, limit),
    })
    return new Response(body, { status, headers })
  }
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
