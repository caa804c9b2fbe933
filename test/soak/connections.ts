// Kept connections that carry one POST at a time each, as bytes: what the sender costs is taken
// from the same processors as what it measures, and node:http costs twice as much.
import { connect, type Socket } from 'node:net'

interface Delivery {
  readonly bytes: string
  readonly settle: (status: number) => void
}

interface Connection {
  readonly socket: Socket
  received: string
  under?: Delivery
}

export interface Connections {
  /** The status of its answer, 0 where the connection broke. */
  readonly post: (headers: Readonly<Record<string, string>>, body: string) => Promise<number>
  readonly close: () => void
}

export function openConnections(port: number, most: number): Connections {
  const free: Connection[] = []
  const open = new Set<Connection>()
  const waiting: Delivery[] = []

  function send(connection: Connection, delivery: Delivery): void {
    connection.under = delivery
    connection.socket.write(delivery.bytes)
  }

  function settle(connection: Connection, status: number): void {
    const { under } = connection
    connection.under = undefined
    connection.received = ''
    under?.settle(status)
  }

  function begin(): Connection {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const connection: Connection = { socket, received: '' }
    open.add(connection)
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      connection.received += text
      const status = statusOf(connection.received)
      if (status === undefined) return
      settle(connection, status)
      const next = waiting.shift()
      if (next) send(connection, next)
      else free.push(connection)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      open.delete(connection)
      const at = free.indexOf(connection)
      if (at >= 0) free.splice(at, 1)
      settle(connection, 0)
    })
    return connection
  }

  return {
    post: (headers, body) =>
      new Promise((resolve) => {
        const delivery = { bytes: textOf(headers, body), settle: resolve }
        const connection = free.pop() ?? (open.size < most ? begin() : undefined)
        if (connection) send(connection, delivery)
        else waiting.push(delivery)
      }),
    close: () => {
      for (const { socket } of open) socket.destroy()
    },
  }
}

function textOf(headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST / HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${body}`
}

/** The status of an answer that is there as a whole. */
function statusOf(received: string): number | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, end + 2))
  if (!length) throw new Error(`an answer without a length: ${received.slice(0, end)}`)
  return received.length < end + 4 + Number(length[1]) ? undefined : Number(received.slice(9, 12))
}
