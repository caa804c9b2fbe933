import { createReceiver } from 'idv-webhooks'

export const receiver = createReceiver({
  // A function, because `next build` loads this file without a secret.
  secret: () => process.env.WEBHOOK_SECRET,
})

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})
