// Fastify with the console at /inbox: on your own machine for you, in production for whom your proxy names.
import Fastify from 'fastify'
import { createReceiver, createWorker } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { toFastify } from 'idv-webhooks/fastify'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const inbox = createInbox({ store: sqliteStore(process.env.INBOX ?? 'inbox.db') })
const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, inbox })
receiver.on('verification.*', (event) => console.log(`${event.name}: ${event.data.id}`))
await createWorker(receiver, { signals: ['SIGTERM', 'SIGINT'] }).start()

const inProduction = process.env.NODE_ENV === 'production'
const { node } = inboxConsole(inbox, {
  basePath: '/inbox',
  authorize: inProduction ? ({ headers }) => headers.get('x-forwarded-user') ?? false : 'loopback',
})

const app = Fastify()
await app.register(toFastify(receiver), { path: '/webhooks' })
for (const path of ['/inbox', '/inbox/*']) {
  app.all(path, (request, reply) => {
    reply.hijack()
    return node(Object.assign(request.raw, { body: request.body }), reply.raw)
  })
}
await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
console.log('listening', app.server.address())
