// Prints what happens in a sandbox, line by line: changes of verifications, mails, and attempts of
// deliveries. Never the content of a delivery.
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream'
import type { Sandbox } from '../sandbox/index.ts'
import { outcomeOf } from './deliver.ts'
import { type Output, printable, withoutUser } from './output.ts'
import type { Session } from './session.ts'

interface WatchedDelivery {
  readonly id: string
  readonly event: string
  readonly status: string
  readonly attempts: readonly {
    readonly durationMs: number
    readonly request: { readonly url: string }
    readonly response?: { readonly status: number; readonly body: string }
    readonly error?: string
  }[]
}

export function watchSandbox(session: Session, { fetch, url }: Sandbox) {
  const response = fetch(`${url}/_sandbox/events`)
  const reader = response.then(({ body }) => readerOf(body))
  // A failure to watch must not stop the sandbox.
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

async function read({ out }: Session, reader: Reader | undefined): Promise<void> {
  const printed = new Map<string, number>()
  for (;;) {
    const next = await reader?.read()
    if (!next || next.done) return
    const data: unknown = JSON.parse(next.value.data)
    if (next.value.event === 'verification') printVerification(out, data)
    if (next.value.event === 'mail') printMail(out, data)
    if (next.value.event === 'delivery') printDelivery(out, printed, data as WatchedDelivery)
  }
}

function printVerification(out: Output, data: unknown): void {
  const { id, status } = data as { readonly id: string; readonly status: string }
  out.record({ type: 'verification', id, status })
  out.data(`verification ${id}  ${status}`)
}

function printMail(out: Output, data: unknown): void {
  const { kind, transport } = data as { readonly kind: string; readonly transport: string }
  out.record({ type: 'mail', kind, transport })
  out.data(`mail  ${kind}  ${transport === 'none' ? 'in the outbox' : transport}`)
}

/** Each attempt once; a dropped delivery has none. */
function printDelivery(
  out: Output,
  printed: Map<string, number>,
  { id, event, status, attempts }: WatchedDelivery,
): void {
  if (printed.get(id) === attempts.length) return
  const last = attempts.at(-1)
  if (!last && status !== 'dropped') return
  printed.set(id, attempts.length)
  if (!last) {
    out.record({ type: 'delivery', event, status, attempts: 0 })
    out.data(`${event}  ${out.paint('yellow', 'dropped')}`)
    return
  }
  const { response } = last
  const answer = response?.status ?? last.error ?? ''
  const to = withoutUser(last.request.url)
  const { code } = response ? outcomeOf({ body: Buffer.from(response.body, 'base64') }) : {}
  const reason = code === undefined ? {} : { code }
  out.record({
    type: 'delivery',
    id,
    event,
    to,
    status,
    answer,
    attempt: attempts.length,
    ...reason,
  })
  const text = printable([answer, code].filter(Boolean).join(' '))
  const words = out.paint(status === 'delivered' ? 'green' : 'red', text)
  out.data(`${event} → ${printable(to)}  ${words}  ${last.durationMs} ms`)
}
