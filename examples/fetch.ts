// Any Request → Response runtime: Bun, Deno and workers serve this default export as it is.
import { createReceiver } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})

export default { fetch: toFetch(receiver) }
