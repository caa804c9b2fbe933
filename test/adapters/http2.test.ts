// Deliveries over HTTP/2, whose requests bring pseudo headers beside the headers.
import { once } from 'node:events'
import { createReceiver, schemes, sign, type VerifiedDelivery } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import { cloudEvents } from 'idv-webhooks/protocol'
import { capture, replay } from 'idv-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { http2Mounts, sessionTo } from './http2-mounts.ts'

const secret = 'a-secret-of-thirty-two-characters'
const body = '{"id":"e1","event":"client.created","data":{"id":"cli_1"}}'

async function statusOf(origin: string, headers: Record<string, string>): Promise<unknown> {
  const stream = sessionTo(origin)(headers)
  stream.end(body)
  return (await once(stream, 'response'))[0][':status']
}

describe.each(http2Mounts)('over %s', (_, start) => {
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
    expect(
      new Headers(taken.headers.map(([name, value]): [string, string] => [name, value])).get(
        'ce-id',
      ),
    ).toBe('e1')
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
