// A server on a port of its own, on loopback.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'

/** Its address once it listens; rejects when it cannot. */
export function listening(server: Server, port = 0): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    })
  })
}

/** Ends the server and the streams that clients still read. */
export function ended(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

type Http2Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => unknown

/** A server of HTTP/2 without TLS, and a connection to it. */
export async function http2Server(listener: Http2Listener) {
  const server = createServer(listener)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return { server, session }
}

/** How it is asked as with `fetch`. */
export async function overHttp2(listener: Http2Listener) {
  const { server, session } = await http2Server(listener)
  const send = async (path: string, { method = 'GET', headers, body }: RequestInit = {}) => {
    const own = { ':method': method, ':path': path, ...(headers as Record<string, string>) }
    const stream = session.request(own)
    stream.end(body ?? undefined)
    const [head] = await once(stream, 'response')
    const chunks: Buffer[] = await stream.toArray()
    const { ':status': status, ...rest } = head
    return new Response(Buffer.concat(chunks), { status, headers: fieldsOf(rest) })
  }
  const close = () => {
    session.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return { send, close }
}

function fieldsOf(head: Record<string, string | string[]>): [string, string][] {
  return Object.entries(head).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  )
}
