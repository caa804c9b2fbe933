// One request over the wire, within its time: the answer with its whole body, or how it failed.
// The time limit and the caller's signal hold even for a fetch that does not listen to them.

import { orAborted } from '../abortable.ts'
import { decodeUtf8 } from '../json.ts'

/** Sends a request, always a `Request` object; the global fetch is one, and so is a sandbox's. */
export type Fetch = (request: Request) => Promise<Response>

/** An answer, its body read to the end. */
export interface Answered {
  readonly status: number
  readonly headers: Headers
  /** Undefined when it was not UTF-8; of an error's, also when it was cut off or has no end. */
  readonly text: string | undefined
}

/** What one attempt came to. */
export type Attempted =
  | ({ readonly kind: 'answered' } & Answered)
  | { readonly kind: 'timeout' }
  | { readonly kind: 'broken'; readonly error: unknown }
  | { readonly kind: 'too large' }
  /** The caller ended it; `sent` is false only when nothing can have left. */
  | { readonly kind: 'aborted'; readonly reason: unknown; readonly sent: boolean }

/** What is sent, and within which time. */
export interface Attempt {
  readonly url: string
  readonly init: RequestInit
  /** Milliseconds, from the first byte sent to the last one read. */
  readonly timeout: number
  readonly signal?: AbortSignal | undefined
}

/** A page of 100 records is far below; what is above is no answer of this service. */
const maxBytes = 64 * 1024 ** 2
/** The same for errors, which are small. */
const maxErrorBytes = 1024 ** 2

/** Sends once. Never rejects: what went wrong is told. */
export async function attempt(
  send: Fetch,
  { url, init, timeout, signal }: Attempt,
): Promise<Attempted> {
  if (signal?.aborted) return { kind: 'aborted', reason: signal.reason, sent: false }
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), timeout)
  const stop = signal ? AbortSignal.any([limit.signal, signal]) : limit.signal
  try {
    const request = new Request(url, { ...init, signal: stop })
    return await exchange(send, { request, stop, signal })
  } catch (error) {
    if (signal?.aborted) return { kind: 'aborted', reason: signal.reason, sent: true }
    return limit.signal.aborted ? { kind: 'timeout' } : { kind: 'broken', error }
  } finally {
    clearTimeout(timer)
  }
}

interface Exchange {
  readonly request: Request
  /** Ends it: the time limit, or the caller. */
  readonly stop: AbortSignal
  /** The caller's own. */
  readonly signal: AbortSignal | undefined
}

async function exchange(send: Fetch, { request, stop, signal }: Exchange): Promise<Attempted> {
  const response = await orAborted(send(request), stop)
  const { status, headers, ok } = response
  const most = ok ? maxBytes : maxErrorBytes
  const bytes = await readBytes(response, { stop, most }).catch((error: unknown) => {
    // The status of an error says it all: a body that fails must not make another one of it.
    if (ok || signal?.aborted) throw error
    return undefined
  })
  if (bytes === undefined && ok) return { kind: 'too large' }
  return { kind: 'answered', status, headers, text: bytes && decodeUtf8(bytes) }
}

/** The body; undefined when it has more bytes than it may. */
async function readBytes(
  response: Response,
  { stop, most }: { readonly stop: AbortSignal; readonly most: number },
): Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader()
  if (!reader) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for (;;) {
      const { done, value } = await orAborted(reader.read(), stop)
      if (done) return joined(chunks, length)
      length += value.length
      if (length > most) return undefined
      chunks.push(value)
    }
  } finally {
    // Ends what is left of a body that nobody reads on; a body that was read has no rest.
    reader.cancel().catch(() => {})
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
