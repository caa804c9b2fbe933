// The application under load, in a process of its own: a receiver over node:http with an inbox in
// an SQLite file and a worker. It tells its memory every second, a JSON line each.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'

const [file = '', secret = ''] = process.argv.slice(2)
const inbox = createInbox({ store: sqliteStore(file) })
const receiver = createReceiver({ secret, inbox })
let handled = 0
receiver.on('*', () => {
  handled += 1
})
const worker = createWorker(receiver, { concurrency: 64 })
await worker.start()
const server = createServer(toNode(receiver)).listen(0, '127.0.0.1')
// As behind a proxy: it must not close a kept connection on which the next delivery is under way.
server.keepAliveTimeout = 65_000
const tell = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

server.on('listening', () => tell({ port: (server.address() as AddressInfo).port }))
const samples = setInterval(() => {
  const { heapUsed, heapTotal, external, rss } = process.memoryUsage()
  const outside = rss - heapTotal - external
  tell({ heap: heapUsed / 1e6, outside: outside / 1e6, rss: rss / 1e6, handled })
}, 1_000)

process.on('SIGTERM', async () => {
  clearInterval(samples)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await worker.drain()
  await inbox.close()
  process.exit(0)
})
