// Fastify: the plugin is encapsulated, so other routes keep their own body parsing.
import Fastify from 'fastify'
import { createReceiver } from 'idv-webhooks'
import { toFastify } from 'idv-webhooks/fastify'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})

const app = Fastify()
await app.register(toFastify(receiver), { path: '/webhooks' })
app.post('/orders', async (request) => ({ got: request.body }))

await app.listen({ port: Number(process.env.PORT ?? 3000) })
console.log('listening', app.server.address())
