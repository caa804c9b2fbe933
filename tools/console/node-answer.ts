// Sends an answer over node:http and HTTP/2. Not each host tells when a client has left, so nothing here
// waits for one without an end.
import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Milliseconds for which a client may read an answer over HTTP/2. */
const mostReading = 5 * 60_000
/** The same for a refusal, and over HTTP/1 too for the last of events. */
const mostLast = 10_000
/** Bytes of events that may wait for a client. */
const mostWaiting = 256 * 1_024

/** A request over HTTP/2, which has no socket of its own. */
interface Http2Stream extends EventEmitter {
  readonly session?: { close(): void }
  readonly destroyed: boolean
  close(): void
  destroy(): void
}

const streamOf = (incoming: IncomingMessage) => (incoming as { stream?: Http2Stream }).stream

export interface Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Ends the events that are made for the client. */
  readonly gone: AbortController
}

/** Whether the client has left already, as far as the host tells. */
export function hasLeft({ incoming, outgoing }: Omit<Exchange, 'gone'>): boolean {
  const { socket } = incoming
  return outgoing.destroyed || socket?.destroyed || streamOf(incoming)?.destroyed === true
}

/** Sends an answer; events for as long as both sides go on. */
export async function sendAnswer(response: Response, exchange: Exchange): Promise<void> {
  const { incoming, outgoing } = exchange
  const stream = streamOf(incoming)
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
  outgoing.writeHead(response.status)
  const isEvents = response.headers.get('content-type') === 'text/event-stream'
  if (isEvents && response.body) await sendEvents(response.body, exchange)
  const bytes = isEvents ? undefined : new Uint8Array(await response.arrayBuffer())
  if (hasLeft(exchange)) return
  const isShort = isEvents || !response.ok
  if (isEvents || stream) inTime(stream ?? outgoing, isShort ? mostLast : mostReading)
  // Otherwise it stays open until the client has sent all of its body.
  stream?.once('finish', () => stream.close())
  outgoing.end(bytes)
}

/** Ends what its client does not read. */
function inTime(sink: EventEmitter & { destroy(): void }, ms: number): void {
  const timer = setTimeout(() => sink.destroy(), ms)
  timer.unref()
  sink.once('close', () => clearTimeout(timer))
}

/** Sends events until either side ends; their source has an end of its own. */
async function sendEvents(body: ReadableStream<Uint8Array>, exchange: Exchange): Promise<void> {
  const { outgoing } = exchange
  const reader = body.getReader()
  const watch = watchServer(exchange)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done || hasLeft(exchange) || outgoing.writableLength > mostWaiting) return
      outgoing.write(value)
    }
  } finally {
    clearInterval(watch)
  }
}

/** Ends events once their server closes: it waits for them, and an app may drain its worker afterwards. */
function watchServer({ incoming, outgoing, gone }: Exchange): NodeJS.Timeout | undefined {
  // Not over a server that is handed its connections and never listens itself.
  if (!isListening(incoming)) return undefined
  const session = streamOf(incoming)?.session
  const letGo = () => (session ? session.close() : incoming.socket.destroySoon?.())
  const watch = setInterval(() => {
    if (isListening(incoming)) return
    clearInterval(watch)
    outgoing.once('finish', letGo)
    gone.abort()
  }, 1_000)
  return watch.unref()
}

function isListening({ socket }: IncomingMessage): boolean {
  const { server } = (socket ?? {}) as { readonly server?: { readonly listening?: boolean } }
  return server?.listening === true
}
