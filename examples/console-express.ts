// Express with the console at /inbox: on your own machine for you, in production for whom your proxy names.
import express from 'express'
import { createReceiver, createWorker } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { toExpress } from 'idv-webhooks/express'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const inbox = createInbox({ store: sqliteStore(process.env.INBOX ?? 'inbox.db') })
const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, inbox })
receiver.on('verification.*', (event) => console.log(`${event.name}: ${event.data.id}`))
await createWorker(receiver, { signals: ['SIGTERM', 'SIGINT'] }).start()

const inProduction = process.env.NODE_ENV === 'production'
const { node } = inboxConsole(inbox, {
  authorize: inProduction ? ({ headers }) => headers.get('x-forwarded-user') ?? false : 'loopback',
})

const app = express()
app.post('/webhooks', toExpress(receiver))
app.use('/inbox', node)

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log('listening', server.address())
})
