import 'reflect-metadata'
import { Body, Controller, type DynamicModule, type INestApplication, Post } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { createReceiver, type Receiver, sign } from 'idv-webhooks'
import { WebhookModule, webhookReceiver } from 'idv-webhooks/nest'
import { describe, expect, onTestFinished, test } from 'vitest'
import { exactBodies } from '../bodies.ts'

const secret = 'nest-secret'
const body = '{ "event": "verification.approved", "data": { "id": "ver_1" } }'

/** A route of the application; decorators are called as functions. */
class Orders {
  create(parsed: unknown) {
    return { parsed }
  }
}
Controller('orders')(Orders)
Body()(Orders.prototype, 'create', 0)
const create = Object.getOwnPropertyDescriptor(Orders.prototype, 'create')
Post()(Orders.prototype, 'create', create as PropertyDescriptor)

/** Rejects every request without a token, on every route of the application. */
const guard = {
  provide: APP_GUARD,
  useValue: {
    canActivate: (context: { switchToHttp(): { getRequest(): { headers: object } } }) =>
      'authorization' in context.switchToHttp().getRequest().headers,
  },
}

function receiverOf() {
  const bodies: Buffer[] = []
  const receiver = createReceiver({ secret, observe: () => {} })
  receiver.on('*', (_, { delivery }) => void bodies.push(Buffer.from(delivery.body)))
  return { receiver, bodies }
}

const adapters = [
  ['platform-express', () => new ExpressAdapter()],
  ['platform-fastify', () => new FastifyAdapter()],
] as const

describe.each(adapters)('on %s', (_, adapter) => {
  async function start(...imports: DynamicModule[]) {
    class App {}
    const module = { module: App, imports, controllers: [Orders], providers: [guard] }
    const app: INestApplication = await NestFactory.create(module, adapter(), { logger: false })
    app.setGlobalPrefix('api')
    await app.listen(0, '127.0.0.1')
    onTestFinished(() => app.close())
    return { app, url: await app.getUrl() }
  }
  const post = async (url: string, sent: string | Uint8Array, more = {}) => {
    const headers = {
      'content-type': 'application/json',
      ...(await sign(sent, { secret })),
      ...more,
    }
    return fetch(url, { method: 'POST', body: sent as BodyInit, headers })
  }

  test.each(exactBodies)('the exact bytes of a body with %s arrive', async (_, sent) => {
    const { receiver, bodies } = receiverOf()
    const { url } = await start(WebhookModule.forRoot({ receiver, path: '/webhooks' }))
    expect((await post(`${url}/webhooks`, sent)).status).toBe(200)
    expect(bodies).toEqual([Buffer.from(sent)])
  })

  test('JSON is parsed and guarded on every other route, and no guard stands before webhooks', async () => {
    const { receiver } = receiverOf()
    const { url } = await start(WebhookModule.forRoot({ receiver, path: '/webhooks' }))
    expect((await post(`${url}/webhooks`, body)).status).toBe(200)
    expect((await post(`${url}/api/orders`, '{"a":1}')).status).toBe(403)
    const allowed = await post(`${url}/api/orders`, '{"a":1}', { authorization: 'x' })
    expect(await allowed.json()).toEqual({ parsed: { a: 1 } })
    const forged = await fetch(`${url}/webhooks`, { method: 'POST', body, headers: {} })
    expect(forged.status).toBe(415)
    expect((await fetch(`${url}/webhooks`)).status).toBe(405)
    expect((await fetch(`${url}/webhooks/more`, { method: 'POST' })).status).toBe(404)
  })

  test('a factory makes the receiver from injected providers, late if need be', async () => {
    const { receiver, bodies } = receiverOf()
    class Config {}
    const config = {
      module: Config,
      providers: [{ provide: 'SECRET', useValue: secret }],
      exports: ['SECRET'],
    }
    const seen: unknown[] = []
    const module = WebhookModule.forRootAsync({
      path: '/webhooks',
      imports: [config],
      inject: ['SECRET'],
      useFactory: async (given: string) => {
        await new Promise(setImmediate)
        seen.push(given)
        return receiver
      },
    })
    const { app, url } = await start(module)
    expect((await post(`${url}/webhooks`, body)).status).toBe(200)
    expect([seen, bodies.length]).toEqual([[secret], 1])
    expect(app.get<Receiver>(webhookReceiver, { strict: false })).toBe(receiver)
  })

  test('two receivers stand at two paths', async () => {
    const [one, other] = [receiverOf(), receiverOf()]
    const { url } = await start(
      WebhookModule.forRoot({ receiver: one.receiver, path: '/one' }),
      WebhookModule.forRoot({ receiver: other.receiver, path: '/other' }),
    )
    await post(`${url}/one`, body)
    await post(`${url}/other`, body)
    await post(`${url}/other`, body)
    expect([one.bodies.length, other.bodies.length]).toEqual([1, 2])
  })
})

test('an application without a server, as of a worker or a script, starts and has the receiver', async () => {
  const { receiver } = receiverOf()
  const uncaught: unknown[] = []
  const note = (error: unknown) => uncaught.push(error)
  process.on('uncaughtException', note)
  onTestFinished(() => void process.off('uncaughtException', note))
  const module = WebhookModule.forRoot({ receiver, path: '/webhooks' })
  const app = await NestFactory.createApplicationContext(module, { logger: false })
  // rxjs throws a subscriber's error again in a timer.
  await new Promise((resolve) => setTimeout(resolve, 10))
  expect(app.get<Receiver>(webhookReceiver, { strict: false })).toBe(receiver)
  await app.close()
  expect(uncaught).toEqual([])
})

test('the log of Nest calls each of several modules WebhookModule', () => {
  const mounted = ['/one', '/other'].map((path) =>
    WebhookModule.forRoot({ receiver: receiverOf().receiver, path }),
  )
  const [one, other] = mounted.map(({ module }) => module)
  expect(one).not.toBe(other)
  expect([one?.name, other?.name]).toEqual(['WebhookModule', 'WebhookModule'])
})

test('a wrong mount throws when it is made', async () => {
  const { receiver } = receiverOf()
  const path = '/webhooks'
  expect(() => WebhookModule.forRoot({ path } as never)).toThrow(/expects a receiver/)
  expect(() => WebhookModule.forRoot({ receiver, path: 'webhooks' })).toThrow(/begins with '\/'/)
  expect(() => WebhookModule.forRootAsync({ path } as never)).toThrow(/`useFactory` must return/)
})
