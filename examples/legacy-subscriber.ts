// A subscriber of the older request.* names, half-way to verification.*: both arrive at one
// handler, and the count of old arrivals tells when the old subscription can go.
import { createServer } from 'node:http'
import { createReceiver } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'

const legacyArrivals = new Map<string, number>()

const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  observe(seen) {
    if (seen.type !== 'outcome' || !seen.legacy || !seen.receivedName) return
    const count = (legacyArrivals.get(seen.receivedName) ?? 0) + 1
    legacyArrivals.set(seen.receivedName, count)
    console.log(`still arriving: ${seen.receivedName} (${count})`)
  },
})

// Before: receiver.on('request.approved', …), which still works and warns once.
receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id} (arrived as ${event.receivedName})`)
})

const server = createServer(toNode(receiver)).listen(Number(process.env.PORT ?? 3000), () => {
  console.log('listening', server.address())
})
