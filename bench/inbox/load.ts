// A load of signed deliveries over raw connections: closed loop (as fast as answers come) or open
// loop (at a rate, the time counted from when a request was due).
import { createHmac } from 'node:crypto'
import { connect, type Socket } from 'node:net'

export const secret = 'a-secret-for-the-bench'

/** Whole requests, each with an event of its own, of about so many bytes of body. */
export function requests(
  count: number,
  { from = 0, bytes = 2_048, entities = 997 } = {},
): Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index
    const head = `{"id":"evt_${number}","event":"verification.approved","createdAt":"2026-01-01T00:00:00Z","data":{"id":"ver_${number % entities}","status":"approved","note":"`
    const body = `${head}${'x'.repeat(Math.max(0, bytes - head.length - 3))}"}}`
    const signature = createHmac('sha256', secret).update(body).digest('hex')
    return Buffer.from(
      `POST / HTTP/1.1\r\nHost: b\r\nContent-Type: application/json\r\nX-Service-Signature: ${signature}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  })
}

export interface Load {
  readonly port: number
  readonly requests: readonly Buffer[]
  readonly connections: number
  /** Requests a second; as fast as possible without it. */
  readonly rate?: number
  /** Ends a closed loop early. */
  readonly seconds?: number
}

export interface Loaded {
  readonly perSecond: number
  readonly statuses: Readonly<Record<string, number>>
  readonly p50: number
  readonly p99: number
}

export async function load({ port, requests, connections, rate, seconds }: Load): Promise<Loaded> {
  const statuses: Record<string, number> = {}
  const times: number[] = []
  const begun = performance.now()
  const end = seconds === undefined ? Number.POSITIVE_INFINITY : begun + seconds * 1_000
  let next = 0
  const work = async (line: Line) => {
    for (;;) {
      const at = next++
      const request = requests[at]
      if (!request) return
      const due = rate === undefined ? performance.now() : begun + (at * 1_000) / rate
      const wait = due - performance.now()
      if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait))
      if (performance.now() > end) return
      const status = await line.ask(request)
      times.push(performance.now() - due)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  const lines = await Promise.all(Array.from({ length: connections }, () => Line.open(port)))
  await Promise.all(lines.map(work))
  for (const line of lines) line.close()
  const took = (performance.now() - begun) / 1_000
  const sorted = Float64Array.from(times).sort()
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { perSecond: Math.round(times.length / took), statuses, p50: at(0.5), p99: at(0.99) }
}

/** One connection, one request at a time. */
class Line {
  readonly #socket: Socket
  #answered: ((status: string) => void) | undefined
  #text = ''

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1').on('data', (text: string) => this.#read(text))
    socket.on('close', () => this.#answered?.('none'))
    socket.on('error', () => {})
  }

  static open(port: number): Promise<Line> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Line(socket)))
      socket.once('error', reject)
      socket.setNoDelay(true)
    })
  }

  ask(request: Buffer): Promise<string> {
    return new Promise((resolve) => {
      this.#answered = resolve
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(text: string): void {
    this.#text += text
    const head = this.#text.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1] ?? 0)
    if (this.#text.length < head + 4 + length) return
    const status = this.#text.slice(9, 12)
    this.#text = ''
    this.#answered?.(status)
  }
}
