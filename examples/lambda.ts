// AWS Lambda behind API Gateway, an ALB or a function URL.
import { createReceiver } from 'idv-webhooks'
import { toLambda } from 'idv-webhooks/lambda'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})

export const handler = toLambda(receiver)
