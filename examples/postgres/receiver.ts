// A receiver: keeps what arrives in Postgres, then acknowledges it. Run as many as you need.
import http from 'node:http'
import { toNode } from 'idv-webhooks/node'
import { inbox, receiver } from './app.ts'

await inbox.open()
const server = http.createServer(toNode(receiver)).listen(Number(process.env.PORT ?? 3000), () => {
  console.log('ready')
})
process.once('SIGTERM', async () => {
  server.close()
  await receiver.drain()
  await inbox.close()
  process.exit()
})
