// Answers once an event is on the disk, handles it then: npm install express idv-webhooks zod
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createReceiver, createWorker } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const file = process.env.INBOX ?? 'inbox.db'
const inbox = createInbox({ store: sqliteStore(file), retry: { attempts: 8 } })
const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET ?? '', inbox })

receiver.on('verification.approved', async (event, { attempt }) => {
  console.log(`approved: ${event.data.id} (attempt ${attempt})`)
})

const worker = createWorker(receiver, { concurrency: 16, signals: ['SIGTERM', 'SIGINT'] })
await worker.start()

const app = express().post('/webhooks', toExpress(receiver))
const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on port: ${(server.address() as AddressInfo).port}`)
})
