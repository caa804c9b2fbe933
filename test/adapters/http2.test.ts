// Deliveries over HTTP/2, whose requests bring pseudo headers beside the headers.
import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { createReceiver, schemes, sign, type VerifiedDelivery } from 'idv-webhooks'
import { toFastify } from 'idv-webhooks/fastify'
import { type HandlesRequests, toNode } from 'idv-webhooks/node'
import { cloudEvents } from 'idv-webhooks/protocol'
import { capture, replay } from 'idv-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'

const secret = 'a-secret-of-thirty-two-characters'
const body = '{"id":"e1","event":"client.created","data":{"id":"cli_1"}}'

async function overNode(receiver: HandlesRequests): Promise<string> {
  // Typed for node:http; Koa and others hand such requests over.
  const server = createServer(toNode(receiver) as never)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function overFastify(receiver: HandlesRequests): Promise<string> {
  const app = fastify({ http2: true })
  await app.register(toFastify(receiver), { path: '/webhooks' })
  onTestFinished(() => app.close())
  return app.listen({ port: 0, host: '127.0.0.1' })
}

async function statusOf(origin: string, headers: Record<string, string>): Promise<unknown> {
  const session = connect(origin)
  onTestFinished(() => session.destroy())
  const start = { ':method': 'POST', ':path': '/webhooks', 'content-type': 'application/json' }
  const stream = session.request({ ...start, ...headers })
  stream.end(body)
  stream.resume()
  const [answer] = await once(stream, 'response')
  return answer[':status']
}

describe.each([
  ['node:http2', overNode],
  ['Fastify', overFastify],
] as const)('over %s', (_, start) => {
  test('cloudEvents reads the headers, and a capture replays', async () => {
    const came = Promise.withResolvers<VerifiedDelivery>()
    const receiver = createReceiver({ secret, envelope: cloudEvents })
    receiver.on('client.created', (__, { delivery }) => came.resolve(delivery))
    const event = {
      'ce-specversion': '1.0',
      'ce-type': 'client.created',
      'ce-id': 'e1',
      'ce-source': '/s',
    }
    const origin = await start(receiver)
    expect(await statusOf(origin, { ...event, ...(await sign(body, { secret })) })).toBe(200)

    const delivery = await came.promise
    expect(delivery.headers).toContainEqual(['ce-id', 'e1'])
    const taken = await capture(delivery, { redact: false })
    expect(new Headers(taken.headers.map(([name, value]) => [name, value])).get('ce-id')).toBe('e1')
    expect(taken.url).toBe(`${origin}/webhooks`)
    const again = createReceiver({ secret, envelope: cloudEvents }).on('*', () => {})
    const { results } = await replay(toNode(again), [taken])
    expect(results).toMatchObject([{ status: 200 }])
  })

  test('a scheme that signs the address holds', async () => {
    const scheme = schemes.define({
      name: 'of-address',
      header: 'x-signature',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'hex',
      grammar: 'plain',
      signed: '{url}{body}',
    })
    const origin = await start(createReceiver({ secret, scheme, observe: () => {} }))
    const signed = (url: string) => sign(body, { secret, scheme, url })
    expect(await statusOf(origin, await signed(`${origin}/webhooks`))).toBe(200)
    expect(await statusOf(origin, await signed(`${origin}/other`))).toBe(401)
  })
})
