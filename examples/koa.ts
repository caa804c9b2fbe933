// Koa: mount the receiver before koa-body and let it answer over node:http.
import { createReceiver } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import Koa from 'koa'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })
const receive = toNode(receiver)

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})

const app = new Koa()
app.use(async (context, next) => {
  if (context.path !== '/webhooks') return next()
  context.respond = false
  await receive(context.req, context.res)
})

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log('listening', server.address())
})
