// Spans and metrics: start the SDK of your choice first, e.g. node --import ./telemetry.js app.js
import express from 'express'
import { createReceiver } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { openTelemetry } from 'idv-webhooks/opentelemetry'

const telemetry = openTelemetry()
const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  observe: telemetry,
  around: telemetry.around,
})

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})

const app = express()
app.post('/webhooks', toExpress(receiver))
const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log('listening', server.address())
})
