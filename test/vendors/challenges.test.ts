import { createHmac } from 'node:crypto'
import { createReceiver, type Responder, type Scheme, sign } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { challenges, senders, vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

const secret = 'a-secret-of-thirty-two-characters'
const json = { 'content-type': 'application/json' }

async function post(
  receiver: ReturnType<typeof createReceiver>,
  body: object,
  scheme: Scheme,
  key = secret,
) {
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  const headers = { ...json, ...(await sign(bytes, { secret: key, scheme })) }
  return receiver.handle({ method: 'POST', headers, read: async () => bytes })
}

type Given = NonNullable<Parameters<typeof createReceiver>[0]['respond']>

const get = (respond: Responder, url: string, method = 'GET') =>
  createReceiver({ secret, respond }).handle({
    method,
    url,
    headers: json,
    read: async () => new Uint8Array(),
  })

describe('a challenge that is signed', () => {
  test("of Slack gets its text back, and only under Slack's signature", async () => {
    const receiver = createReceiver({
      secret,
      scheme: senders.slack(),
      respond: challenges.slack(),
    })
    const body = {
      type: 'url_verification',
      token: 'x',
      challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd',
    }
    const reply = await post(receiver, body, senders.slack())
    expect([reply.status, JSON.parse(reply.body)]).toEqual([200, { challenge: body.challenge }])
    expect((await post(receiver, body, senders.slack(), 'another-secret')).status).toBe(401)
    const other = await post(receiver, { ...body, type: 'another' }, senders.slack())
    expect(other.body).toBe('{"outcome":"ignored"}')
  })

  test('of Zoom gets the HMAC of its token', async () => {
    const scheme = senders.zoom()
    const receiver = createReceiver({ secret, scheme, respond: challenges.zoom({ secret }) })
    const payload = { plainToken: 'qgg8vlvZRS6UYooatFL8Aw' }
    const reply = await post(receiver, { event: 'endpoint.url_validation', payload }, scheme)
    expect(JSON.parse(reply.body)).toEqual({
      plainToken: payload.plainToken,
      encryptedToken: createHmac('sha256', secret).update(payload.plainToken).digest('hex'),
    })
  })

  test('of Trulioo is answered by its preset, with an inbox too', async () => {
    const vendor = vendors.trulioo()
    const body = { type: 'URL_VERIFICATION', challenge: 'E5KUIHF', token: 't' }
    for (const inbox of [undefined, createInbox({ store: memoryStore() })]) {
      const receiver = createReceiver({ vendor, secret, ...(inbox && { inbox }) })
      const reply = await post(receiver, body, vendor.scheme)
      expect([reply.status, JSON.parse(reply.body)]).toEqual([200, { challenge: 'E5KUIHF' }])
      expect((await post(receiver, body, vendor.scheme, 'another-secret')).status).toBe(401)
    }
  })
})

/** A vendor whose documents accept only 200 as a success, and a vendor that accepts any 2xx. */
describe('a delivery that was kept', () => {
  const inbox = () => createInbox({ store: memoryStore() })
  const [veriff, onfido] = [vendors.veriff(), vendors.onfido()]

  test('is answered 200 where the vendor repeats after any other success', async () => {
    for (const [vendor, status] of [
      [veriff, 200],
      [onfido, 202],
    ] as const) {
      const receiver = createReceiver({ vendor, secret, inbox: inbox() })
      const reply = await post(receiver, vendor.fixtures[0]?.body ?? {}, vendor.scheme)
      expect([reply.status, reply.body]).toEqual([status, '{"outcome":"accepted"}'])
    }
  })

  test('is answered by respond, if respond answers it', async () => {
    const cases: readonly (readonly [Given, number])[] = [
      [{ accepted: 204 }, 204],
      [{ handled: 204 }, 200],
      [{ accepted: { headers: { 'x-kept': 'yes' } } }, 200],
      [() => 201, 201],
      [() => undefined, 200],
      [() => ({ headers: { 'x-kept': 'yes' } }), 200],
    ]
    for (const [respond, status] of cases) {
      const receiver = createReceiver({ vendor: veriff, secret, inbox: inbox(), respond })
      const reply = await post(receiver, veriff.fixtures[0]?.body ?? {}, veriff.scheme)
      expect(reply.status).toBe(status)
    }
  })

  test("keeps the vendor's handshake beside the user's respond", async () => {
    const vendor = vendors.trulioo()
    const body = { type: 'URL_VERIFICATION', challenge: 'E5KUIHF', token: 't' }
    for (const respond of [{ accepted: 204 }, () => 204] satisfies Given[]) {
      const receiver = createReceiver({ vendor, secret, inbox: inbox(), respond })
      const reply = await post(receiver, body, vendor.scheme)
      expect([reply.status, reply.body]).toEqual([200, '{"challenge":"E5KUIHF"}'])
      const kept = await post(receiver, vendor.fixtures[0]?.body ?? {}, vendor.scheme)
      expect(kept.status).toBe(204)
    }
  })

  test('is answered though respond never ends', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const asked = Promise.withResolvers<void>()
    const respond = () => {
      asked.resolve()
      return new Promise<undefined>(() => {})
    }
    const receiver = createReceiver({ vendor: onfido, secret, inbox: inbox(), respond })
    const reply = post(receiver, onfido.fixtures[0]?.body ?? {}, onfido.scheme)
    await asked.promise
    await vi.advanceTimersByTimeAsync(60_000)
    expect((await reply).body).toBe('{"outcome":"accepted"}')
  })

  test("keeps the handshake of the user's respond", async () => {
    const respond = challenges.dropbox()
    const receiver = createReceiver({ vendor: veriff, secret, respond })
    const request = { method: 'GET', url: '/?challenge=abc', headers: json }
    const reply = await receiver.handle({ ...request, read: async () => new Uint8Array() })
    expect([reply.status, reply.body]).toEqual([200, 'abc'])
  })
})

describe('a handshake before any event', () => {
  test('that fails at an unsigned request is ignored', async () => {
    const respond = Object.assign(() => undefined, {
      handshake: ({ url }: { url: string | undefined }) => ({
        ...{ status: 200, headers: { 'x-echo': url ?? '' } },
        body: new URL(url ?? '').host,
      }),
    })
    expect((await get(respond, 'http://[/')).status).toBe(405)
    expect((await get(respond, 'http://a.test/\r\nx')).status).toBe(405)
    expect((await get(respond, 'http://a.test/')).body).toBe('a.test')
  })

  test('whose reply no server can send is passed over, as is a promise that is rejected', async () => {
    const replies: readonly (() => unknown)[] = [
      () => ({ status: 99, headers: {}, body: '' }),
      () => ({ status: '200', headers: {}, body: '' }),
      () => ({ status: 200, headers: { 'x-a': undefined }, body: '' }),
      () => ({ status: 200, headers: {}, body: { a: 1 } }),
      async () => Promise.reject(new Error('late')),
    ]
    for (const handshake of replies) {
      const respond = Object.assign(() => undefined, { handshake }) as Responder
      expect((await get(respond, '/hook')).status).toBe(405)
    }
  })

  test('of Meta is answered only with our token', async () => {
    const respond = challenges.meta({ verifyToken: 'ours' })
    const url = (token: string) =>
      `/hook?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=42`
    expect(await get(respond, url('ours'))).toMatchObject({ status: 200, body: '42' })
    for (const wrong of ['', 'our', 'ours2', 'theirs']) {
      expect((await get(respond, url(wrong))).status).toBe(405)
    }
    expect((await get(respond, '/hook')).status).toBe(405)
  })

  test.each([
    ['Meta', challenges.meta, 'verifyToken'],
    ['Zoom', challenges.zoom, 'secret'],
  ] as const)("of %s is not made without its secret, which would be anybody's", (_, make, name) => {
    for (const value of [undefined, null, '', ' ', 5]) {
      const options = { [name]: value } as never
      expect(() => make(options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    }
    expect(() => make(undefined as never)).toThrow(/options object/)
    expect(() => make({ [name]: 'x', verifytoken: 'y' } as never)).toThrow(/verifytoken/)
  })

  test('of Dropbox and Microsoft Graph echoes only plain text', async () => {
    const dropbox = await get(challenges.dropbox(), '/hook?challenge=abc')
    expect(dropbox).toMatchObject({ status: 200, body: 'abc' })
    expect(dropbox.headers).toMatchObject({
      'content-type': 'text/plain',
      'x-content-type-options': 'nosniff',
    })
    const graph = challenges.microsoftGraph()
    const token = 'Validation: Testing client application'
    const url = `/hook?validationToken=${encodeURIComponent(token)}`
    expect(await get(graph, url, 'POST')).toMatchObject({ status: 200, body: token })
    for (const odd of ['%00', '%0d%0aX: y', 'x'.repeat(1025), '']) {
      expect((await get(challenges.dropbox(), `/hook?challenge=${odd}`)).status).toBe(405)
    }
    expect((await get(graph, '/hook', 'POST')).status).toBe(401)
  })
})

describe('a function as respond', () => {
  test('sees outcome and event, and changes the reply', async () => {
    const respond: Responder = (outcome, event) =>
      outcome.kind === 'ignored' ? { status: 202, body: event?.name ?? '' } : undefined
    const receiver = createReceiver({ secret, respond })
    const bytes = new TextEncoder().encode('{"event":"client.created","data":{"id":"c"}}')
    const headers = { ...json, ...(await sign(bytes, { secret })) }
    const reply = await receiver.handle({ method: 'POST', headers, read: async () => bytes })
    expect([reply.status, reply.body]).toEqual([202, 'client.created'])
  })

  test.each([
    ['a success', () => 200],
    [
      'an error',
      () => {
        throw new Error('respond')
      },
    ],
    ['no status', () => ({ status: Number.NaN })],
  ])('that gives %s turns no failure of ours into a success', async (_, respond) => {
    const receiver = createReceiver({ secret, respond })
    receiver.on('client.created', () => {
      throw new Error('handler')
    })
    const bytes = new TextEncoder().encode('{"event":"client.created","data":{"id":"c"}}')
    const headers = { ...json, ...(await sign(bytes, { secret })) }
    const reply = await receiver.handle({ method: 'POST', headers, read: async () => bytes })
    expect(reply.status).toBe(500)
  })
})
