// A test of the NestJS application with an inbox, as test/webhooks.e2e-spec.ts.
import { randomUUID } from 'node:crypto'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { Test } from '@nestjs/testing'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import request from 'supertest'
import { AppModule, Approvals, Settings } from '../src/app.module.js'

test('stores an event, then handles it', async () => {
  const settings = { secret: testSecret, inbox: createInbox({ store: memoryStore() }) }
  const building = Test.createTestingModule({ imports: [AppModule] })
  const module = await building.overrideProvider(Settings).useValue(settings).compile()
  const app = module.createNestApplication<NestExpressApplication>()
  const approved = new Promise<string>((resolve) => {
    app.get(Approvals).approve = resolve
  })
  await app.init()

  const event = fixture('verification.approved', { id: randomUUID(), data: { id: 'ver_42' } })
  const { body, headers } = await signedDelivery(event)
  const text = new TextDecoder().decode(body)
  const reply = await request(app.getHttpServer()).post('/webhooks').set(headers).send(text)
  expect(reply.status).toBe(202)
  expect(await approved).toBe('ver_42')
  await app.close() // drains the worker and closes the inbox
})
