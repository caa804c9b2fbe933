// NestJS: the module mounts the receiver before Nest's own parsers and guards. In an application,
// the class has the decorator @Module({ imports: [ … ] }).
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createReceiver } from 'idv-webhooks'
import { WebhookModule } from 'idv-webhooks/nest'

const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })

receiver.on('verification.approved', async (event) => {
  console.log(`approved: ${event.data.id}`)
})

class AppModule {}
const webhooks = WebhookModule.forRoot({ receiver, path: '/webhooks' })
Module({ imports: [webhooks] })(AppModule)

const app = await NestFactory.create(AppModule, { logger: false })
const server = await app.listen(Number(process.env.PORT ?? 3000))
console.log('listening', server.address())
