import { createServer } from 'node:http'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'

const inbox = createInbox({ store: sqliteStore(process.env.INBOX) })
const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, inbox })
receiver.on('verification.approved', (event) => console.log(`approved: ${event.data.id}`))
createWorker(receiver, { signals: ['SIGTERM'] })
  .start()
  .then(() => {
    const server = createServer(toNode(receiver)).listen(0, '127.0.0.1', () =>
      console.log(`port: ${server.address().port}`),
    )
  })
