// Hono with the console at /inbox: on your own machine for you, in production for whom your proxy names.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createReceiver, createWorker } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const inbox = createInbox({ store: sqliteStore(process.env.INBOX ?? 'inbox.db') })
const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, inbox })
receiver.on('verification.*', (event) => console.log(`${event.name}: ${event.data.id}`))
await createWorker(receiver, { signals: ['SIGTERM', 'SIGINT'] }).start()

const inProduction = process.env.NODE_ENV === 'production'
const operators = inboxConsole(inbox, {
  basePath: '/inbox',
  authorize: inProduction ? ({ headers }) => headers.get('x-forwarded-user') ?? false : 'loopback',
})
const receive = toFetch(receiver)

const app = new Hono()
app.post('/webhooks', (context) => receive(context.req.raw))
app.all('/inbox/*', (context) => operators.fetch(context.req.raw))
const port = Number(process.env.PORT ?? 3000)
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (at) => console.log('listening', at))
