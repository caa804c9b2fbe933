// Reads what a rejected request still sends, so that its sender gets the reply. Not an import path.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable, Writable } from 'node:stream'

/** Milliseconds for which a rejected request is read. */
const maxDrain = 10_000

/** Requests whose body did not arrive in time: they get a reply, and are read no further. */
const expired = new WeakSet<IncomingMessage>()

export const expire = (request: IncomingMessage) => void expired.add(request)

/** Reads what a rejected request still sends for a while, then destroys it. */
export function drainRequest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.resume()
  if (expired.has(request)) {
    destroy(request)
    return
  }
  const timer = setTimeout(() => destroy(request), maxDrain)
  timer.unref()
  request.once('close', () => clearTimeout(timer))
}

/** Calls `drainRequest` once the reply is sent. */
export function drainOnceSent(
  request: IncomingMessage,
  response: ServerResponse & { readonly stream?: Writable },
): void {
  if (request.complete) return
  // Over HTTP/2 a response finishes with its stream, and a stream when the reply is sent.
  const sent = response.stream ?? response
  sent.once('finish', () => drainRequest(request))
}

/** Over HTTP/2 the stream must be destroyed too: else its body is read on. */
function destroy(request: IncomingMessage & { readonly stream?: Readable }): void {
  request.destroy()
  request.stream?.destroy()
}

const ignore = () => {}

/** Ignores errors of a stream: an error without a listener ends the process. */
export const ignoreErrors = (stream: Readable): Readable => stream.on('error', ignore)
