// A node:http server on a free loopback port, for apps that need one. Imported dynamically, so that
// the test kit loads on every runtime.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export async function listen(listener: unknown) {
  // Express, Connect and Koa type their requests as their own kinds of the same thing.
  const server = createServer(listener as RequestListener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  return { url: `http://127.0.0.1:${port}`, close }
}
