import { createReceiver } from 'idv-webhooks'
import { toNext } from 'idv-webhooks/next'

export const runtime = 'edge'

const receiver = createReceiver({ secret: () => process.env.WEBHOOK_SECRET })
let begun = 'idle'
receiver.on('verification.approved', () => {})
receiver.on('verification.rejected', () => {
  throw new Error('broken')
})
receiver.on('verification.submitted', async () => {
  begun = 'begun'
  await new Promise((resolve) => setTimeout(resolve, 200))
  begun = 'ended'
})

export const POST = toNext(receiver)
export const GET = () => new Response(begun)
export const DELETE = async () => {
  await receiver.drain()
  return new Response('drained')
}
