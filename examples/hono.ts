// Hono: hand the receiver the raw Request of the context.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createReceiver } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })
const receive = toFetch(receiver)

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})

const app = new Hono()
app.post('/webhooks', (context) => receive(context.req.raw))

const port = Number(process.env.PORT ?? 3000)
serve({ fetch: app.fetch, port }, (address) => {
  console.log('listening', address)
})
