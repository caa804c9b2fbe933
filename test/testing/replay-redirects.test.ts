import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { createReceiver, sign } from 'idv-webhooks'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { toLambda } from 'idv-webhooks/lambda'
import { toNode } from 'idv-webhooks/node'
import { capture, fixture, replay, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { senders } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'

const one = { headers: [['x-service-signature', 'abc']], body: 'e30=' }

test.each([302, 307])(
  'replay follows no redirect: %i has failed, and nothing goes on',
  async (status) => {
    const asked: string[] = []
    const listener = (request: { method?: string; url?: string }, response: ServerResponse) => {
      asked.push(`${request.method} ${request.url}`)
      if (request.url === '/login') response.end('welcome')
      response.writeHead(status, { location: '/login' }).end()
    }
    const server = createServer(listener).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const options = { path: '/webhooks' }
    for (const target of [`http://127.0.0.1:${port}/webhooks`, listener]) {
      const report = await replay(target as never, [one], options)
      expect(report).toMatchObject({ taken: 0, failed: 1, results: [{ status }] })
    }
    expect(asked).toEqual(['POST /webhooks', 'POST /webhooks'])
    server.close()
  },
)

test('replay sends a GET that was captured without a body', async () => {
  const seen: string[] = []
  const app = async (request: Request) => {
    seen.push(`${request.method} ${(await request.text()).length}`)
    return new Response(null, { status: 405 })
  }
  const report = await replay(app, [{ ...one, method: 'GET' }])
  expect([report.refused, seen]).toEqual([1, ['GET 0']])
})

test('replay answers for a listener that throws or rejects, such as a handler of Lambda', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const lambda = toLambda(createReceiver({ secret: 's' }))
  const throws = (_: unknown, __: unknown) => {
    throw new Error('mine')
  }
  for (const target of [lambda, throws]) {
    expect(await replay(target as never, [one])).toMatchObject({
      failed: 1,
      results: [{ status: 500 }],
    })
  }
  expect(unhandled).toEqual([])
})

test('replay gives a receiver the path too, as the address of a tenant', async () => {
  const secret = ({ url = '' }) => {
    const tenant = new URL(url).pathname.split('/').at(-1) ?? ''
    return tenant === 'acme' ? { value: testSecret, tenant } : undefined
  }
  const receiver = createReceiver({ secret, observe: () => {} })
  receiver.on('*', () => {})
  const sent = await signedDelivery(fixture('client.created'))
  const captured = await capture({ ...sent, url: 'https://app.example/webhooks/acme' })
  expect((await replay(receiver, [captured])).taken).toBe(0)
  const { results } = await replay(receiver, [captured], { path: '/webhooks/acme' })
  expect(results).toMatchObject([{ status: 200, detail: { tenant: 'acme' } }])
})

test('replay to an app goes to no other host, whatever the path of a capture', async () => {
  const asked: string[] = []
  const other = createServer((request, response) => {
    asked.push(String(request.url))
    response.end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await new Promise((resolve) => other.once('listening', resolve))
  const host = `127.0.0.1:${(other.address() as AddressInfo).port}`
  const seen: string[] = []
  const app = (request: { url?: string }, response: ServerResponse) => {
    seen.push(String(request.url))
    response.end()
  }
  const slashes = ['//', '/\\', '/\t/', '\t//', '/\n/', '\r/\r/', '/\t\\', '\0//', ' //', '/ //']
  for (const path of slashes.map((before) => `${before}${host}/hooks`)) {
    await replay(app as never, [{ ...one, url: path }])
    await replay(app as never, [one], { path })
  }
  expect(asked).toEqual([])
  expect(seen.length).toBe(2 * slashes.length)
  expect(new Set(seen)).toContain(`/${host}/hooks`)
})

test('replay through an app holds under a scheme that signs the address', async () => {
  const scheme = senders.square()
  const url = 'https://app.example.com/webhooks?x=1'
  const body = new TextEncoder().encode('{"event_id":"e1","type":"payment.updated","data":{}}')
  const headers = await sign(body, { secret: 'live', scheme, url })
  const captured = await capture({ body, url, headers: { ...headers } }, { scheme })
  const handled: (string | undefined)[] = []
  const receiver = createReceiver({
    secret: (delivery) => {
      handled.push(delivery.url?.replace(/:\d{4,5}/, ''))
      return testSecret
    },
    scheme,
    observe: () => {},
  })
  receiver.on('*', () => {})
  const app = fastify()
  await app.register(toFastify(receiver), { path: '/webhooks' })
  const server = createServer(toNode(receiver)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const targets = [toFetch(receiver), app, toNode(receiver), `http://127.0.0.1:${port}/webhooks`]
  for (const target of targets) {
    expect(await replay(target as never, [captured])).toMatchObject({ taken: 1 })
    expect(await replay(target as never, [captured], { secret: testSecret })).toMatchObject({
      taken: 1,
    })
  }
  expect(new Set(handled)).toEqual(new Set([captured.url, 'http://127.0.0.1/webhooks']))
})
