// Reads the rest of a rejected request, so that its sender gets the reply. Not an import path.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable, Writable } from 'node:stream'

/** Milliseconds for which a rejected request is read. */
const maxDrain = 10_000

/** Requests whose body did not arrive in time: they get a reply, and their rest is not read. */
const expired = new WeakSet<IncomingMessage>()

export const expire = (request: IncomingMessage) => void expired.add(request)

/** The request has come whole; requests that a host makes itself are not marked complete. */
export const isRead = (request: IncomingMessage) => request.complete || request.readableEnded

/** Reads the rest of a rejected request for a while, then destroys the request. */
export function drainRequest(request: IncomingMessage): void {
  if (isRead(request) || request.destroyed) return
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
  if (isRead(request)) return
  // Over HTTP/2 a response finishes with its stream, and a stream when the reply is sent.
  const sent = response.stream ?? response
  sent.once('finish', () => drainRequest(request))
}

/**
 * Writes the body of a reply, and ends the response once the request has been read, or was read for a
 * while: a response that ends closes its connection, and a sender that still writes then never reads
 * the reply.
 */
export function endOnceRead(
  request: IncomingMessage,
  response: ServerResponse & { readonly stream?: Writable },
  body: string,
): void {
  // Over HTTP/2 a stream can end in one direction only.
  if (response.stream || expired.has(request) || request.destroyed) {
    drainOnceSent(request, response)
    response.end(body)
    return
  }
  response.write(body)
  const end = () => response.end()
  request.once('end', end).once('close', end)
  drainRequest(request)
}

/** Over HTTP/2 the stream must be destroyed too, or its body is read on. */
function destroy(request: IncomingMessage & { readonly stream?: Readable }): void {
  request.destroy()
  request.stream?.destroy()
}

const ignore = () => {}

/** Ignores errors of a stream: an error without a listener ends the process. */
export const ignoreErrors = (stream: Readable): Readable => stream.on('error', ignore)
