import express from 'express'
import fc from 'fast-check'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createReceiver, type Delivery, schemes, sign, verify } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { toNode } from 'idv-webhooks/node'
import {
  capture,
  fakeClock,
  fixture,
  readCapture,
  replay,
  signedDelivery,
  testSecret,
} from 'idv-webhooks/testing'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { exactBodies } from '../bodies.ts'
import { mounts } from '../mounts.ts'

const live = 'the secret of production'
const text = (base64: string) => Buffer.from(base64, 'base64').toString()
const person = {
  subjectName: 'Ludmila Canaryová',
  subjectEmail: 'canary.person@bird.test',
  subjectPhone: '+420 777 123 456',
  addressLine1: '12 Canary Wharf',
  postalCode: 'E14 5AB',
  metadata: { 'canary.person@bird.test': 'Canary', nested: [{ note: 'Canary\\Bird "x"' }] },
  person: { dateOfBirth: '1990-04-01', documentNumber: 998877665544, place: { lat: 50.0755 } },
}
// A time of arrival by the real clock would contain .777 once in a thousand runs.
const now = () => new Date('2026-03-01T11:00:00Z')
const canary = /canary|ludmila|bird|777|wharf|E14|1990|998877|50\.07/i

describe('a redacted capture', () => {
  const taken = async () => {
    const event = fixture('verification.approved', { data: { id: 'ver_42', ...person } })
    const headers = {
      authorization: 'Bearer canary',
      cookie: 'canary=1',
      'x-forwarded-for': '10.7.7.7',
      'user-agent': 'canary-bird/7.77',
      accept: 'application/canary, */*',
      'content-type': 'application/vnd.canary+json; charset=utf-8; note=canary',
    }
    const url = 'https://canary@app.test/v1/webhooks/canary%20bird-777?token=canary'
    return capture(await signedDelivery(event, { secret: live, headers, url, now }))
  }

  test('masks further headers that a scheme signs, and keeps a delivery that lacks one', async () => {
    const scheme = schemes.define({
      name: 'own',
      header: 'X-Signature',
      encoding: 'hex',
      key: 'utf8',
      grammar: 'plain',
      algorithm: 'sha256',
      signed: '{header:X-Subject}.{header:X-Path}.{header:X-Event}.{header:Content-Type}.{body}',
    })
    const all = {
      'x-subject': 'canary.person@bird.test',
      'x-path': '/webhooks/Ludmila-1990-04-01',
      'x-event': 'verification.approved',
      'content-type': 'application/json',
    }
    const body = new TextEncoder().encode('{"event":"verification.approved","data":{}}')
    const headers = { ...all, ...(await sign(body, { secret: live, scheme, headers: all })) }
    const made = await capture({ body, headers, receivedAt: now() }, { scheme })
    expect(JSON.stringify(made)).not.toMatch(canary)
    const kept = Object.fromEntries(made.headers)
    expect(kept).toMatchObject({
      'x-path': '/xxxxxxxx/xxxxxxx-0000-00-00',
      'x-event': all['x-event'],
    })
    expect(made.headers).toHaveLength(Object.keys(kept).length)
    const { delivery } = readCapture(made)
    expect(await verify(delivery, { secret: testSecret, scheme })).toMatchObject({ ok: true })

    const { 'x-subject': _, ...lacking } = headers
    const refused = readCapture(await capture({ body, headers: lacking }, { scheme }))
    expect((await verify(refused.delivery, { secret: testSecret, scheme })).ok).toBe(false)
  })

  test.each(['Canary ', '"', 'a\u0301'])('a note of 1 MB of %j is masked', async (part) => {
    const message = part.repeat(1_000_000 / part.length)
    const body = new TextEncoder().encode(JSON.stringify({ event: 'client.created', message }))
    const made = JSON.parse(text((await capture({ body, headers: {} })).body)) as object
    expect(new Set(Object(made).message)).toEqual(
      new Set(part === '"' ? '"' : part === 'Canary ' ? 'x ' : 'x'),
    )
  })

  test('a redacted capture contains no personal data and verifies under the test secret', async () => {
    const made = await taken()
    // The digits of a signature are random.
    const signature = ([name]: readonly [string, string]) => name === 'x-service-signature'
    const headers = made.headers.filter((pair) => !signature(pair))
    expect(JSON.stringify({ ...made, headers })).not.toMatch(canary)
    expect(text(made.body)).not.toMatch(canary)
    expect(made).toMatchObject({
      version: 1,
      method: 'POST',
      redacted: true,
      url: 'https://app.test/v1/webhooks/xxxxxxxxxxx-000',
      headers: expect.arrayContaining([['content-type', 'application/x+json']]),
    })
    const receiver = createReceiver({ secret: testSecret })
    receiver.on('verification.approved', (event) => {
      expect(event.data).toMatchObject({
        id: 'ver_42',
        status: 'approved',
        subjectEmail: 'xxxxxx.xxxxxx@xxxx.xxxx',
      })
      expect(event.issues).toBeUndefined()
    })
    const { delivery } = readCapture(JSON.stringify(made))
    expect(await receiver.receive(delivery)).toMatchObject({ kind: 'handled' })
    const before = createReceiver({ secret: live })
    expect(await before.receive(delivery)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
  })

  test.each([
    ['ver_42', true],
    ['evt_fixture_5', true],
    ['5d0c2a3e-8b7f-4f43-9a3c-1f6e0b7f2a11', true],
    ['5D0C2A3E-8B7F-4F43-9A3C-1F6E0B7F2A11', true],
    ['ver_0193a1b2-8b7f-7f43-9a3c-1f6e0b7f2a11', true],
    ['01ARZ3NDEKTSV4RRFFQ69G5FAV', true],
    ['msg_01ARZ3NDEKTSV4RRFFQ69G5FAV', true],
    ['user_01ARZ3NDEKTSV4RRFFQ69G5FAV', false],
    ['5d0c2a3e-8b7f-4f43-9a3c-1f6e0b7f2a11 Jane', false],
    // Hex of “James Miller1985” with the dashes of a UUID.
    ['4a616d65-7320-4d69-6c6c-657231393835', false],
    ['00000000-0000-0000-0000-004915123456', false],
    ['01000000000004915123456789', false],
    ['0100000000000491512345678A', false],
    ['7JAMESMXTTHEWJAMESMXTTHEW7', false],
    ['usr_a1b2c3d4e5f6', false],
    ['65a1f3c2b4d5e6f7a8b9c0d1', false],
    ['V1StGXR8_Z5jdHi6B-myT', false],
    ['cjld2cjxh0000qzrmn831i7rn', false],
    ['evt_1NG8Du2eZvKYlo2CUI79vXWy', false],
    ['cli_rssmra85t10a562s', false],
    ['GARC850101HDFRRL09', false],
    ['AnnLee12Aug1990Rome7', false],
    ['cli_123456', false],
    ['12345', false],
    ['cli_QQ123456C', false],
    ['GB29NWBK60161331926819', false],
    ['jane_doe_1985', false],
    ['ver_jane_1985', false],
    ['cli_15551234567', false],
    ['VXNlcjpqYW5lLmRvZUBnbWFpbC5jb20', false],
  ])('a capture keeps an id only if it is opaque: %s', async (id, stays) => {
    const event = fixture('verification.approved', { data: { id } })
    const made = await capture(await signedDelivery(event, { secret: live }))
    expect(text(made.body).includes(`"${id}"`)).toBe(stays)
  })

  test('an id that could be a person’s becomes the same other one in every capture', async () => {
    const data = { id: 'QQ123456C', clientId: 'ver_QQ123456C', matterId: 'QQ123456C' }
    const made = async () => {
      const taken = await capture(await signedDelivery({ event: 'client.updated', data }))
      return JSON.parse(text(taken.body)).data as typeof data
    }
    const [one, other] = [await made(), await made()]
    expect(one.id).toMatch(/^[0-9a-f-]{36}$/)
    expect(one.clientId).toMatch(/^ver_[0-9a-f-]{36}$/)
    expect(one.matterId).toBe(one.id)
    expect(other).toEqual(one)
    const another = await capture(await signedDelivery({ event: 'x', data: { id: 'QQ123457C' } }))
    expect(text(another.body)).not.toContain(one.id)
  })

  test('an id that is signed stays one event’s own', async () => {
    const scheme = schemes.standardWebhooks()
    const idOf = async (id: string) => {
      const taken = await capture(await signedDelivery({ event: 'x', data: {} }, { id, scheme }), {
        scheme,
      })
      return taken.headers.find(([name]) => name === 'webhook-id')?.[1]
    }
    const opaque = 'msg_01ARZ3NDEKTSV4RRFFQ69G5FAV'
    expect(await idOf(opaque)).toBe(opaque)
    const [one, again, other] = [await idOf('Jane-1'), await idOf('Jane-1'), await idOf('Eve-22')]
    expect(one).toMatch(/^[0-9a-f-]{36}$/)
    expect(again).toBe(one)
    expect(other).not.toBe(one)
  })

  test('only the documented times and small counts stay readable', async () => {
    const event = {
      event: 'verification.approved',
      timestamp: 1_772_359_200_123,
      createdAt: '2026-03-01T10:00:00.000Z',
      data: {
        createdAt: '2026-03-01T10:00:00.000Z',
        phone: '1971-03-29T00:00:00Z',
        timestamp: 19_710_329,
        occurredAt: '1971-03-29T00:00:00Z',
        score: 6_135_550_198,
        requestCount: 100,
        client: { score: 87.5 },
      },
    }
    const made = await capture(await signedDelivery(event))
    expect(JSON.parse(text(made.body))).toEqual({
      ...event,
      data: {
        createdAt: '2026-03-01T10:00:00.000Z',
        phone: '0000-00-00x00:00:00x',
        timestamp: 11_111_111,
        occurredAt: '0000-00-00x00:00:00x',
        score: 1_111_111_111,
        requestCount: 100,
        client: { score: 87.5 },
      },
    })
  })

  test.each([
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', schemes.service()],
    [`whsec_${'A1b2C3d'.repeat(6)}`.slice(0, 43), schemes.service()],
    ['a-shared-token-of-40-characters-0123456', schemes.service()],
    ['0123456789abcdef0123456789abcdef', schemes.service()],
    [`t=1772359200,v1=${'ab'.repeat(20)}`, schemes.timestamped()],
  ])('a refused delivery keeps no token from its signature header: %s', async (token, scheme) => {
    const delivery = await signedDelivery(fixture('client.created'), { scheme })
    const headers = { [scheme.header]: token }
    const proof = { ok: false, code: 'SIGNATURE_MALFORMED' } as const
    const made = await capture({ ...delivery, headers }, { scheme, proof })
    const pairs = made.headers.map(([name, value]): [string, string] => [name, value])
    const kept = new Headers(pairs)
    const value = kept.get(scheme.header)
    expect(value).toHaveLength(token.length)
    expect(value).toMatch(/^(t=1772359200,)?[x=]+$/)
  })

  test.each(['tampered', 'wrong-secret', 'unsigned', 'malformed'] as const)(
    'a refused delivery stays refused for the same reason: %s',
    async (tamper) => {
      const event = fixture('verification.approved', { data: { id: 'ver_42', ...person } })
      const delivery = await signedDelivery(event, { secret: live, tamper, now })
      const proof = await verify(delivery, { secret: live })
      const made = await capture(delivery, { proof })
      expect(made).toMatchObject({ redacted: true, verified: false })
      expect(JSON.stringify(made) + text(made.body)).not.toMatch(canary)
      const read = readCapture(made)
      expect(read).toMatchObject({ verified: false, code: proof.ok ? '' : proof.code })
      const receiver = createReceiver({ secret: [testSecret, live] })
      const { results } = await replay(receiver, [made], { secret: live })
      expect(results).toMatchObject([{ outcome: 'rejected', code: made.code }])
    },
  )

  test('a capture says that it verified, if that was checked', async () => {
    const delivery = await signedDelivery(fixture('client.created'), { secret: live })
    const proof = await verify(delivery, { secret: live })
    expect(await capture(delivery, { proof })).toMatchObject({ verified: true, redacted: true })
    expect(await capture(delivery)).not.toHaveProperty('verified')
  })

  test('a refused delivery keeps no name from its signature header', async () => {
    const delivery = await signedDelivery(fixture('client.created'))
    const headers = { 'x-service-signature': 'Ludmila Canaryová, canary=canary.person@bird.test' }
    const proof = { ok: false, code: 'SIGNATURE_MALFORMED' } as const
    const made = await capture({ ...delivery, headers, receivedAt: now() }, { proof })
    expect(JSON.stringify(made)).not.toMatch(canary)
    expect(made.headers).toContainEqual(['x-service-signature', expect.stringMatching(/^x+ x+/)])
  })

  test('a capture of bytes that are not JSON keeps only their length', async () => {
    const made = await capture(await signedDelivery('Canary Person'))
    expect(text(made.body)).toBe('x'.repeat('Canary Person'.length))
  })

  test('every personal text and number is masked, at any place', async () => {
    const secretText = fc
      .stringMatching(/^[A-Za-z0-9@.+ é-]{6,20}$/)
      .filter((one) => /[a-wyzA-Z]{3}|[2-9]{3}/.test(one))
    const tree = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        secretText,
        fc.integer({ min: 222222, max: 999999 }),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom('name', 'note', 'phone', 'metadata', 'email', 'id', 'type', 'x'),
          tie('node'),
        ),
      ),
    })).node
    const leaves = (value: unknown): string[] => {
      if (typeof value === 'string' || typeof value === 'number') return [String(value)]
      return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : []
    }
    await fc.assert(
      fc.asyncProperty(tree, async (data) => {
        const made = await capture(
          await signedDelivery({ event: 'client.created', data: { person: data } }),
        )
        const redacted = text(made.body)
        for (const leaf of leaves(data)) {
          expect(redacted).not.toContain(JSON.stringify(leaf).slice(1, -1))
        }
        expect(JSON.parse(redacted)).toMatchObject({ event: 'client.created' })
      }),
    )
  })
})

test('a capture with redact: false keeps the exact bytes, headers and signature', async () => {
  for (const [, body] of exactBodies) {
    const delivery = await signedDelivery(body, { secret: live })
    const made = await capture(delivery, { redact: false })
    const read = readCapture(made)
    expect(Buffer.from(read.delivery.body)).toEqual(Buffer.from(body))
    expect(Object.fromEntries(read.delivery.headers)).toEqual(delivery.headers)
    expect(await createReceiver({ secret: live }).receive(read.delivery)).toMatchObject({
      kind: 'ignored',
    })
  }
})

describe('readCapture', () => {
  test.each([
    ['{', 'must be JSON'],
    ['[]', 'body'],
    ['null', 'must be a JSON object'],
    ['{"headers":[]}', 'body'],
    ['{"headers":[],"body":"%%"}', 'base64'],
    ['{"body":""}', 'headers'],
    ['{"body":"","headers":{"a":"b"}}', 'headers'],
    ['{"body":"","headers":[["a"]]}', 'headers'],
    ['{"body":"","headers":[],"version":2}', 'version 2'],
    ['{"body":"","headers":[],"receivedAt":"soon"}', 'receivedAt'],
  ])('an invalid capture is refused with the reason: %s', (json, why) => {
    expect(() => readCapture(json)).toThrow(expect.objectContaining({ code: 'CAPTURE_INVALID' }))
    expect(() => readCapture(json)).toThrow(why)
  })

  test('a capture needs only headers and body', () => {
    expect(readCapture('{"headers":[["A","b"]],"body":"e30="}')).toMatchObject({
      method: 'POST',
      delivery: { headers: [['a', 'b']], body: Uint8Array.of(0x7b, 0x7d) },
    })
  })
})

describe('replay', () => {
  const captures = async () => [
    await capture(await signedDelivery(fixture('verification.approved'), { secret: live })),
    await capture(await signedDelivery(fixture('client.created'), { secret: live }), {
      redact: false,
    }),
    JSON.stringify(
      await capture(await signedDelivery(fixture('request.rejected'), { secret: live })),
    ),
  ]
  const expected = [
    { index: 0, status: 200, outcome: 'handled' },
    { index: 1, status: 401, code: 'SIGNATURE_MISMATCH' },
    { index: 2, status: 200, outcome: 'ignored' },
  ]
  const fresh = () => createReceiver({ secret: testSecret }).on('verification.approved', () => {})

  test('replay through a receiver reports each whole outcome', async () => {
    const report = await replay(fresh(), await captures())
    expect(report).toMatchObject({ results: expected, taken: 2, refused: 1, failed: 0 })
    expect(report.results[0]?.detail).toMatchObject({ kind: 'handled', event: { known: true } })
  })

  test.each([
    ['an Express app', () => express().post('/', toExpress(fresh()))],
    ['a node listener', () => toNode(fresh())],
    ['a fetch handler', () => toFetch(fresh())],
    [
      'a Koa app',
      () => {
        const app = new Koa()
        app.use(async (context) => {
          context.respond = false
          await toNode(fresh())(context.req, context.res)
        })
        return app
      },
    ],
    [
      'a Hono app',
      () => {
        const handler = toFetch(fresh())
        return new Hono().post('/', (context) => handler(context.req.raw))
      },
    ],
  ])('replay through %s reports each outcome', async (_, app) => {
    const report = await replay(app() as never, await captures())
    expect(report).toMatchObject({ results: expected, taken: 2, refused: 1 })
  })

  test.each([
    ['expect', '100-continue'],
    ['Keep-Alive', 'timeout=5'],
    ['upgrade', 'h2c'],
    ['connection', 'keep-alive'],
  ])('replay leaves a header of the connection to it: %s', async (name, value) => {
    const delivery = await signedDelivery(fixture('client.created'), { secret: testSecret })
    const raw = await capture(delivery, { redact: false })
    const headers = [...raw.headers, [name, value]]
    const named = JSON.stringify({ ...raw, headers })
    const report = await replay(express().post('/', toExpress(fresh())), [named])
    expect(report).toMatchObject({ taken: 1, failed: 0 })
  })

  test('replay takes the path of a Fastify app', async () => {
    const app = fastify()
    await app.register(toFastify(fresh()), { path: '/webhooks' })
    expect(await replay(app, await captures(), { path: '/webhooks' })).toMatchObject({
      results: expected,
    })
  })

  test('replay through a running server runs several at a time, and reports in order', async () => {
    const mounted = await (mounts[0] as (typeof mounts)[0]).start(fresh())
    const seen: number[] = []
    const onResult = ({ index }: { index: number }) => seen.push(index)
    const report = await replay(mounted.url, await captures(), { concurrency: 3, onResult })
    await mounted.close()
    expect(report).toMatchObject({ results: expected })
    expect(seen.sort()).toEqual([0, 1, 2])
  })

  test('replay reports a server that does not answer as failed', async () => {
    const report = await replay('http://127.0.0.1:1/', await captures())
    expect(report).toMatchObject({
      taken: 0,
      refused: 0,
      failed: 3,
      results: [{ status: 0 }, {}, {}],
    })
    expect(report.results[0]?.error).toBeInstanceOf(Error)
  })

  test('replay signs again with a given secret, and if the signed time has passed', async () => {
    const scheme = schemes.standardWebhooks()
    const clock = fakeClock('2026-01-01T00:00:00Z')
    const old = await capture(
      await signedDelivery(fixture('client.created'), { scheme, now: clock.now }),
      { scheme },
    )
    clock.advance({ days: 30 })
    const receiver = createReceiver({ secret: testSecret, scheme, now: clock.now })
    expect(await replay(receiver, [old], { now: clock.now })).toMatchObject({ taken: 1 })
    const mine = createReceiver({ secret: live })
    const raw = await capture(await signedDelivery(fixture('client.created')), { redact: false })
    expect(await replay(mine, [raw])).toMatchObject({ refused: 1 })
    expect(await replay(mine, [raw], { secret: live })).toMatchObject({ taken: 1 })
  })

  test('replay sends no secret itself because a capture says so', async () => {
    const token = { name: 'service', algorithm: 'token', header: 'User-Agent' } as const
    const raw = await capture(await signedDelivery(fixture('client.created')), { redact: false })
    const evil = { ...raw, scheme: token }
    const seen: string[] = []
    const app = async (request: Request) => {
      seen.push(request.headers.get('user-agent') ?? '')
      return new Response()
    }
    await expect(replay(app, [evil], { secret: live })).rejects.toThrow(
      'sends the secret itself, as User-Agent',
    )
    await replay(app, [evil])
    expect(seen).toHaveLength(1)
    expect(seen[0]).not.toContain(live)
    const scheme = schemes.define(token as never)
    await replay(app, [evil], { secret: live, scheme })
    expect(seen[1]).toBe(live)
  })

  test('replay signs again everything that the scheme signs beside the body: method, headers and id', async () => {
    const { headers: _, template: __, authenticity: ___, ...service } = schemes.service()
    const scheme = schemes.define({
      ...service,
      id: { header: 'X-Id' },
      signed: '{method}.{id}.{header:x-request}.{body}',
    })
    const headers = { 'x-request': 'r-7' }
    const event = JSON.stringify(fixture('client.created'))
    const signed = await sign(event, { secret: live, scheme, id: 'id-7', method: 'PUT', headers })
    const body = new TextEncoder().encode(event)
    const delivery = { body, headers: signed, method: 'PUT' }
    const ids: (string | null)[] = []
    const receiver = createReceiver({ secret: testSecret, scheme })
    const own = {
      receive(arrived: Delivery) {
        ids.push(new Headers(arrived.headers as [string, string][]).get('x-id'))
        return receiver.receive(arrived)
      },
    }
    for (const redact of [false, true]) {
      const made = await capture(delivery, { scheme, redact, method: 'PUT' })
      const report = await replay(own, [made], { secret: testSecret })
      expect(report).toMatchObject({ taken: 1 })
      const proof = await verify(readCapture(made).delivery, {
        secret: redact ? testSecret : live,
        scheme,
      })
      expect(proof.ok).toBe(true)
    }
    expect(ids[0]).toBe('id-7')
  })

  test('replay says which capture is invalid, and that one was already read', async () => {
    const [one] = await captures()
    await expect(replay(fresh(), [one, readCapture(one)])).rejects.toThrow(
      'captures[1]: the capture was already read by readCapture(): pass the content of the capture file',
    )
    await expect(replay(fresh(), one as never)).rejects.toThrow('replay needs a list of captures')
  })

  test('replay refuses a target that takes no deliveries', async () => {
    await expect(replay({} as never, [])).rejects.toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })
})
