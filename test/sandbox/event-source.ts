// Reads server-sent events from a real connection.
import { EventSourceParserStream } from 'eventsource-parser/stream'

export interface Streamed {
  readonly id: string | undefined
  readonly type: string
  readonly data: unknown
}

export async function createEventSource(url: string, lastId?: string) {
  const leave = new AbortController()
  const response = await fetch(url, {
    signal: leave.signal,
    headers: lastId === undefined ? {} : { 'last-event-id': lastId },
  })
  const stream = response.body
    ?.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream())
  const reader = stream?.getReader()
  const seen: Streamed[] = []
  return {
    /** Everything up to the first event of a type. */
    async until(type: string): Promise<readonly Streamed[]> {
      for (;;) {
        const next = await reader?.read()
        if (!next || next.done) throw new Error(`the stream ended before ${type}`)
        const { id, event = 'message', data } = next.value
        seen.push({ id, type: event, data: JSON.parse(data) })
        if (next.value.event === type) return seen
      }
    },
    close: () => leave.abort(),
  }
}
