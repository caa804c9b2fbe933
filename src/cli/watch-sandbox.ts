// Prints what happens in a sandbox, line by line: changes of verifications and clients, attempts of
// deliveries. Never what a delivery holds.
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream'
import type { Sandbox } from '../sandbox/index.ts'
import { printable } from './output.ts'
import type { Session } from './session.ts'

interface Attempted {
  readonly id: string
  readonly event: string
  readonly status: string
  readonly attempts: readonly {
    readonly durationMs: number
    readonly request: { readonly url: string }
    readonly response?: { readonly status: number }
    readonly error?: string
  }[]
}

export function watchSandbox(session: Session, { fetch, url }: Sandbox) {
  const response = fetch(`${url}/_sandbox/events`)
  const reader = response.then(({ body }) => readerOf(body))
  // Whoever watches must never take down what he watches.
  const reading = reader.then((one) => read(session, one)).catch(() => {})
  return {
    async end() {
      await (await reader)?.cancel()
      await reading
    },
  }
}

type Reader = ReadableStreamDefaultReader<EventSourceMessage>

function readerOf(body: ReadableStream<Uint8Array<ArrayBuffer>> | null): Reader | undefined {
  const decoder = new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>
  return body?.pipeThrough(decoder).pipeThrough(new EventSourceParserStream()).getReader()
}

async function read(session: Session, reader: Reader | undefined): Promise<void> {
  const told = new Map<string, number>()
  for (;;) {
    const next = await reader?.read()
    if (!next || next.done) return
    tell(session, told, { type: next.value.event, data: JSON.parse(next.value.data) })
  }
}

interface Happening {
  readonly type: string | undefined
  readonly data: unknown
}

function tell({ out }: Session, told: Map<string, number>, { type, data }: Happening): void {
  if (type === 'verification') {
    const { id, status } = data as { readonly id: string; readonly status: string }
    out.record({ type, id, status })
    out.data(`verification ${id}  ${status}`)
  }
  if (type === 'mail') {
    const { kind, transport } = data as { readonly kind: string; readonly transport: string }
    out.record({ type, kind, transport })
    out.data(`mail  ${kind}  ${transport === 'none' ? 'in the outbox' : transport}`)
  }
  if (type !== 'delivery') return
  const { id, event, status, attempts } = data as Attempted
  const last = attempts.at(-1)
  if (!last || told.get(id) === attempts.length) return
  told.set(id, attempts.length)
  const answer = last.response?.status ?? last.error ?? ''
  const good = status === 'delivered'
  const to = last.request.url
  out.record({ type, id, event, to, status, answer, attempt: attempts.length })
  const words = out.paint(good ? 'green' : 'red', printable(String(answer)))
  out.data(`${event} → ${printable(to)}  ${words}  ${last.durationMs} ms`)
}
