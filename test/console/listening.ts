// A server on a port of its own, on loopback.
import type { Server } from 'node:http'
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

/** Ends it, and the streams that somebody still reads. */
export function ended(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
