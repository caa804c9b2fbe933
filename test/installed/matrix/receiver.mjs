// One receiver at module scope, as the documents show it.
import { createReceiver } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'

export const receiver = createReceiver({ secret: 'installed-secret' })
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

const deliver = toFetch(receiver)

/** GET tells what has begun, DELETE drains, everything else is a delivery. */
export async function serve(request, ...context) {
  if (request.method === 'GET') return new Response(begun)
  if (request.method !== 'DELETE') return deliver(request, ...context)
  await receiver.drain()
  return new Response('drained')
}
