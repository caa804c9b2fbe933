import { createReceiver } from 'idv-webhooks'

// A function, because `next build` loads this file without the secrets of production.
export const receiver = createReceiver({ secret: () => process.env.WEBHOOK_SECRET })

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})
