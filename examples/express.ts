// Express: mount the receiver above express.json(), which would consume the raw bytes.
import express from 'express'
import { createReceiver } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})
receiver.fallback((event) => console.log(`not handled: ${event.name}`))

const app = express()
app.post('/webhooks', toExpress(receiver))
app.use(express.json())

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log('listening', server.address())
})
