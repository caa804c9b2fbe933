// The rest of a request that is refused. Not a door.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable, Writable } from 'node:stream'

/** Milliseconds for which it is read, so that its sender hears the reply. */
const patience = 10_000

/** Requests whose time for a body is over: they get a reply, and no more patience. */
const expired = new WeakSet<IncomingMessage>()

export const expire = (request: IncomingMessage) => void expired.add(request)

/** Reads on for a while what a refused request still sends, and then cuts it off. */
export function letGo(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.resume()
  if (expired.has(request)) {
    cut(request)
    return
  }
  const timer = setTimeout(() => cut(request), patience)
  timer.unref()
  request.once('close', () => clearTimeout(timer))
}

/** The same once the reply is sent. */
export function letGoOnceSent(
  request: IncomingMessage,
  response: ServerResponse & { readonly stream?: Writable },
): void {
  if (request.complete) return
  // Over HTTP/2 a response finishes with its stream, and a stream when the reply is sent.
  const sent = response.stream ?? response
  sent.once('finish', () => letGo(request))
}

/** Over HTTP/2 destroying the request leaves its stream open, and its body is read on. */
function cut(request: IncomingMessage & { readonly stream?: Readable }): void {
  request.destroy()
  request.stream?.destroy()
}

const ignore = () => {}

/** A stream that may break when nobody reads it: an error without a listener ends the process. */
export const unheard = (stream: Readable): Readable => stream.on('error', ignore)
